"""Checkpoints: the newest to continue from, the best to average."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from maskpredict.checksums import CHECKSUMS_FILE
from maskpredict.errors import UserError
from maskpredict.training.checkpoint import (
    RunState,
    average_weights,
    best_loss,
    checkpoints,
    intact,
    keep_best,
    load_tensors,
    newest_checkpoint,
    remove_superseded,
    save_checkpoint,
)
from maskpredict.training.loader import Position


def weights(value: float) -> dict[str, torch.Tensor]:
    return {"a": torch.full((2, 3), value), "b": torch.full((4,), -value)}


def keep(folder: Path, losses: dict[int, float], count: int = 2) -> list[int]:
    """Updates that are kept after validations with these losses."""
    for update, loss in losses.items():
        keep_best(folder, RunState(update=update), loss, weights(update), count)
    return [int(path.name.removeprefix("update-")) for path in checkpoints(folder)]


def test_a_checkpoint_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    state = RunState(12, Position(3, 4), 5.5, 1.25, 2)
    save_checkpoint(tmp_path, state, weights(1.5), {"exp_avg.a": torch.ones(2, 3)})
    (saved,) = checkpoints(tmp_path)
    assert RunState.read(saved) == state
    assert torch.equal(load_tensors(saved / "weights.safetensors")["a"], torch.full((2, 3), 1.5))
    assert torch.equal(load_tensors(saved / "optimizer.safetensors")["exp_avg.a"], torch.ones(2, 3))


def test_tokens_that_an_older_run_did_not_count_are_unknown(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, RunState(12, target_tokens=345), weights(1.5), {})
    (saved,) = checkpoints(tmp_path)
    state = json.loads((saved / "state.json").read_text())
    assert state.pop("target_tokens") == 345
    (saved / "state.json").write_text(json.dumps(state))
    (saved / CHECKSUMS_FILE).unlink()  # which such runs do not have, either
    assert RunState.read(saved) == RunState(12, target_tokens=None)


def test_the_newest_two_checkpoints_are_kept_and_leftovers_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    left = tmp_path / "update-00000002.partial-123"
    left.mkdir()
    (left / "state.json").write_text("{}")
    assert checkpoints(tmp_path) == []
    for update in (3, 12, 20):
        save_checkpoint(tmp_path, RunState(update=update), weights(1), {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["update-00000012", "update-00000020"]


def test_the_k_best_are_kept(tmp_path: Path) -> None:
    assert keep(tmp_path, {10: 3.0, 20: 2.0, 30: 2.5, 40: 4.0, 50: 1.0}) == [20, 50]
    assert [best_loss(path) for path in checkpoints(tmp_path)] == [2.0, 1.0]


def test_of_equal_losses_the_earlier_one_stays(tmp_path: Path) -> None:
    assert keep(tmp_path, {10: 2.0, 20: 2.0, 30: 2.0}) == [10, 20]


def test_keeping_none_keeps_none(tmp_path: Path) -> None:
    assert keep(tmp_path, {10: 2.0}, count=0) == []


def test_validations_that_a_continued_run_repeats_change_nothing(tmp_path: Path) -> None:
    losses = {10: 0.5, 20: 0.4, 30: 0.3}
    assert keep(tmp_path, losses) == [20, 30]
    assert keep(tmp_path, losses) == [20, 30]  # killed after 30, continued from before 10
    assert keep(tmp_path, {30: 0.3}) == [20, 30]


def test_averaging_takes_the_mean_of_each_weight(tmp_path: Path) -> None:
    keep(tmp_path, {1: 0.5, 2: 0.4, 6: 0.3}, count=3)
    averaged = average_weights(checkpoints(tmp_path))
    torch.testing.assert_close(averaged, weights(3.0))


def test_averaging_nothing_or_unlike_things_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no checkpoint to average"):
        average_weights([])
    keep_best(tmp_path / "one", RunState(update=1), 1.0, weights(1), 1)
    keep_best(tmp_path / "two", RunState(update=1), 1.0, {"a": torch.ones(7)}, 1)
    folders = checkpoints(tmp_path / "one") + checkpoints(tmp_path / "two")
    with pytest.raises(UserError, match="average like with like"):
        average_weights(folders)


@pytest.mark.parametrize("name", ["state.json", "weights.safetensors"])
def test_a_damaged_checkpoint_is_named(tmp_path: Path, name: str) -> None:
    save_checkpoint(tmp_path, RunState(update=1), weights(1), {})
    (saved,) = checkpoints(tmp_path)
    (saved / name).write_bytes(b"{")
    with pytest.raises(UserError, match="is damaged"):
        RunState.read(saved) if name == "state.json" else load_tensors(saved / name)


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


FILES = ["state.json", "weights.safetensors", "optimizer.safetensors", "checksums.json"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", [cut_off, flip_a_bit, Path.unlink])
def test_the_checkpoint_before_a_damaged_one_is_used_instead(
    tmp_path: Path, name: str, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    for update in (1, 2):
        save_checkpoint(tmp_path, RunState(update=update), weights(update), {"step.a": torch.ones(1)})
    damage(tmp_path / "update-00000002" / name)
    saved = newest_checkpoint(tmp_path)
    assert saved is not None
    if damage is Path.unlink and name in ("state.json", "optimizer.safetensors", "checksums.json"):
        # Without its state it is not complete; without its optimizer or its checksums it is, as those made elsewhere.
        assert saved.state.update == (1 if name == "state.json" else 2)
        return
    if damage is cut_off and name == "checksums.json":
        return  # its last byte is the end of a line
    assert saved.state.update == 1
    assert torch.equal(saved.weights["a"], torch.full((2, 3), 1.0))
    assert f"Resuming from {tmp_path / 'update-00000001'}, since the newer checkpoint is unusable" in caplog.text
    save_checkpoint(tmp_path, RunState(update=2), weights(5), {})
    again = newest_checkpoint(tmp_path)
    assert again is not None
    assert (again.state.update, float(again.weights["a"][0, 0])) == (2, 5.0)


def test_what_a_killed_process_did_not_come_to_remove_is_removed_when_the_run_continues(tmp_path: Path) -> None:
    for update in (1, 2):
        save_checkpoint(tmp_path, RunState(update=update), weights(update), {})
    shutil.copytree(tmp_path / "update-00000002", tmp_path / "update-00000003")
    shutil.copytree(tmp_path / "update-00000002", tmp_path / "update-00000001.partial-maskpredict-4711")
    remove_superseded(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["update-00000002", "update-00000003"]


def test_without_an_intact_checkpoint_nothing_is_resumed(tmp_path: Path) -> None:
    for update in (1, 2):
        save_checkpoint(tmp_path, RunState(update=update), weights(update), {})
        cut_off(tmp_path / f"update-{update:08d}" / "weights.safetensors")
    with pytest.raises(UserError, match=r"no checkpoint in .* is intact \(.*update-00000002/weights.* is damaged"):
        newest_checkpoint(tmp_path)
    assert newest_checkpoint(tmp_path / "nowhere") is None


def test_a_damaged_best_checkpoint_is_left_out_and_is_the_first_to_go(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keep(tmp_path, {1: 0.5, 2: 0.1})
    flip_a_bit(tmp_path / "update-00000002" / "weights.safetensors")
    assert [path.name for path in intact(checkpoints(tmp_path))] == ["update-00000001"]
    assert "update-00000002 is left out of the average" in caplog.text
    cut_off(tmp_path / "update-00000002" / "state.json")
    assert keep(tmp_path, {3: 0.9}) == [1, 3]
