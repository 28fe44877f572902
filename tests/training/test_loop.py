"""The training loop: what it records and shows, when it saves and when it ends."""

from __future__ import annotations

import errno
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from maskpredict.corpus.batches import PairArrays
from maskpredict.errors import UserError
from maskpredict.training.checkpoint import RunState, checkpoints
from maskpredict.training.config import TrainConfig
from maskpredict.training.distributed import ProcessGroup
from maskpredict.training.engine import EagerEngine
from maskpredict.training.loop import Run, train

MakeConfig = Callable[..., TrainConfig]
CPU = torch.device("cpu")


def records_of(config: TrainConfig, kind: str = "train") -> list[dict[str, Any]]:
    lines = (Path(config.run) / "metrics.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["kind"] == kind]


def saved_state(config: TrainConfig) -> RunState:
    return RunState.read(checkpoints(Path(config.run) / "checkpoints")[-1])


@pytest.fixture
def break_down(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, BaseException], None]:
    """Lets training fail in its n-th part, as a defective device would."""
    compute = EagerEngine.accumulate

    def arrange(part: int, error: BaseException) -> None:
        parts = iter(range(1, 1_000_000))

        def accumulate(self: EagerEngine, arrays: PairArrays, seed: int) -> torch.Tensor:
            if next(parts) >= part:
                raise error
            return compute(self, arrays, seed)

        monkeypatch.setattr(EagerEngine, "accumulate", accumulate)

    return arrange


def test_the_recorded_loss_is_the_mean_over_tokens_and_its_parts_add_up_to_it(make_config: MakeConfig) -> None:
    config = make_config(label_smoothing=0.0, validation={"every": 10})
    train(config, quiet=True)
    records = records_of(config)
    assert [record["loss"] for record in records] == pytest.approx([r["word"] + r["length"] for r in records])
    # An untrained model spreads its probability over a hundred subwords: ln(100) = 4.6 for each.
    assert 4.0 < records[0]["word"] < 7.0


def test_a_record_names_the_update_its_time_and_its_speed(make_config: MakeConfig) -> None:
    config = make_config()
    train(config, quiet=True)
    records = records_of(config)
    for record in records:
        assert record.keys() == {
            *("kind", "update", "loss", "word", "length"),
            *("rate", "epoch", "seconds", "tokens_per_second"),
        }
        assert isinstance(record["tokens_per_second"], int)
        assert record["tokens_per_second"] > 0
        assert record["seconds"] == round(record["seconds"], 3)
    assert records[-1]["seconds"] == pytest.approx(saved_state(config).seconds, abs=1e-3)


def test_the_seconds_of_all_pieces_of_a_run_add_up(make_config: MakeConfig) -> None:
    config, seconds = make_config(), []
    started = time.monotonic()
    for _ in range(3):
        train(config, quiet=True, stop_after=1e-9)
        seconds.append(saved_state(config).seconds)
    assert 0.0 < seconds[0] < seconds[1] < seconds[2] < time.monotonic() - started


def test_a_run_with_a_time_falls_linearly_with_the_time_that_has_passed(make_config: MakeConfig) -> None:
    config = make_config(
        steps=100_000,
        seconds=0.5,
        optimizer={"rate": 1e-3, "warmup": 0, "schedule": "linear"},
        validation={"every": 100_000},
    )
    assert train(config, quiet=True).finished
    records = records_of(config)
    assert saved_state(config).seconds >= 0.5
    passed = [0.0, *(record["seconds"] for record in records[:-1])]
    expected = [1e-3 * (1 - seconds / 0.5) for seconds in passed]
    assert [record["rate"] for record in records] == pytest.approx(expected, abs=2e-6)


def test_a_run_with_time_to_spare_ends_after_its_last_update(make_config: MakeConfig) -> None:
    result = train(make_config(steps=3, seconds=1000.0), quiet=True, stop_after=1000.0)
    assert (result.finished, result.updates) == (True, 3)


def test_a_run_that_is_not_finished_has_no_model(make_config: MakeConfig) -> None:
    config = make_config()
    result = train(config, quiet=True, stop_after=1e-9)
    assert (result.finished, result.updates, result.model) == (False, 1, None)
    assert not (Path(config.run) / "model").exists()


def test_a_run_uses_as_many_threads_as_its_config_says(make_config: MakeConfig) -> None:
    before = torch.get_num_threads()
    try:
        train(make_config(steps=1, threads=2), quiet=True)
        assert torch.get_num_threads() == 2
        train(make_config("as it is", steps=1, threads=None), quiet=True)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.fixture
def lines_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets progress write a line for every update, not twice a minute."""
    monkeypatch.setattr("maskpredict.progress.SECONDS_BETWEEN_LINES", 0.0)


@pytest.mark.usefixtures("lines_at_once")
def test_progress_shows_updates_loss_rate_and_speed_unless_it_is_to_be_quiet(
    make_config: MakeConfig, capsys: pytest.CaptureFixture[str]
) -> None:
    config = make_config(steps=4)
    train(config, quiet=True, stop_after=1e-9)
    assert capsys.readouterr().err == ""
    train(config)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        "Training: 1 of 4",  # what the first piece did
        "Training: 2 of 4",
        "Training: 3 of 4",
        "Training: 4",
    ]
    last = records_of(config)[-1]
    shown = [last["loss"], last["rate"], last["tokens_per_second"]]
    assert lines[-1].endswith("loss {:.3f}  rate {:.1e}  tokens {:,}/s".format(*shown))


def test_a_disk_that_is_full_gets_a_sentence_that_names_the_run(
    make_config: MakeConfig, break_down: Callable[[int, BaseException], None]
) -> None:
    config = make_config()
    break_down(3, OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(UserError, match=f"no room left to write {re.escape(config.run)};"):
        train(config, quiet=True)


def test_a_run_that_breaks_down_goes_on_from_the_last_checkpoint_that_was_due(
    make_config: MakeConfig, break_down: Callable[[int, BaseException], None]
) -> None:
    config = make_config(checkpoint_every=2)
    break_down(12, RuntimeError("device lost"))  # in the sixth update, of two parts each
    with pytest.raises(RuntimeError, match="device lost"):
        train(config, quiet=True)
    assert [record["update"] for record in records_of(config)] == [1, 2, 3, 4, 5]
    assert saved_state(config).update == 4


def test_a_loss_that_stays_the_same_is_no_better(make_config: MakeConfig) -> None:
    still = {"rate": 1e-30, "warmup": 0, "weight_decay": 0.0}  # too little to change any weight
    config = make_config(optimizer=still, validation={"every": 2, "patience": 3}, steps=50)
    result = train(config, quiet=True)
    assert (result.finished, result.updates) == (True, 8)
    state = saved_state(config)
    assert state.best_loss == records_of(config, "valid")[0]["loss"]
    assert state.validations_since_best == 3
    # The earliest of equals are kept.
    assert [path.name for path in checkpoints(Path(config.run) / "best-2")] == ["update-00000002", "update-00000004"]


@pytest.mark.parametrize(
    ("tokens", "part_tokens", "parts"), [(1000, 1000, 1), (1000, 300, 3), (1000, 400, 2), (1000, 699, 1)]
)
def test_an_update_has_as_many_parts_as_come_closest_to_their_size_and_keeps_its_own(
    make_config: MakeConfig, tokens: int, part_tokens: int, parts: int
) -> None:
    config = make_config(batch={"tokens": tokens, "part_tokens": part_tokens, "max_length": 48})
    run = Run(config, CPU, ProcessGroup())
    updates = run.loader.updates(run.state.position)
    try:
        update = next(updates)
    finally:
        updates.close()
        run.close()
    assert [part.number for part in update.parts] == list(range(parts))
    # Rows of one width fill a part as far as they go.
    for part in update.parts:
        rows, width = part.arrays.target.ids.shape
        assert rows * width <= tokens // parts


def test_parts_are_halved_until_they_would_hold_less_than_two_sentences(
    make_config: MakeConfig, break_down: Callable[[int, BaseException], None], caplog: pytest.LogCaptureFixture
) -> None:
    config = make_config(batch={"tokens": 192, "part_tokens": 96, "max_length": 24})
    break_down(1, torch.OutOfMemoryError("CUDA out of memory."))
    with pytest.raises(UserError, match="micro-batches of 48 tokens do not fit the memory"):
        train(config, quiet=True)
    warnings = [record.getMessage() for record in caplog.records]
    assert warnings == ["Micro-batches of 96 tokens do not fit the memory; continuing with 48 (batch.part_tokens)."]


def test_smaller_parts_make_the_same_number_of_updates_of_the_same_size(
    make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a device ran out of memory in the third update."""
    compute = EagerEngine.accumulate
    sizes: list[int] = []

    def accumulate(self: EagerEngine, arrays: PairArrays, seed: int) -> torch.Tensor:
        if len(sizes) >= 2 and arrays.target.ids.size > 200:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        sizes.append(arrays.target.ids.size)
        return compute(self, arrays, seed)

    monkeypatch.setattr(EagerEngine, "accumulate", accumulate)
    config = make_config(batch={"tokens": 400, "part_tokens": 400, "max_length": 40})
    assert train(config, quiet=True).updates == 10
    assert len(sizes) == 2 + 8 * 2
    assert max(sizes[:2]) > 200
    assert max(sizes[2:]) <= 200
