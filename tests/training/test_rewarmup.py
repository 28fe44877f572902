"""A run whose optimiser's memory was left behind goes on with a short warm-up, and with nothing else changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maskpredict.packing import pack, unpack
from maskpredict.training.checkpoint import OPTIMIZER_FILE, RunState, checkpoints
from maskpredict.training.config import TrainConfig
from maskpredict.training.loop import train
from maskpredict.training.schedule import rewarmup_share

MakeConfig = Callable[..., TrainConfig]
ReadMetrics = Callable[[Path | str], list[dict[str, Any]]]


def last_checkpoint(config: TrainConfig) -> Path:
    return checkpoints(Path(config.run) / "checkpoints")[-1]


def rates(records: list[dict[str, Any]]) -> dict[int, float]:
    return {record["update"]: record["rate"] for record in records if record["kind"] == "train"}


def test_the_share_rises_from_nothing_to_one() -> None:
    assert [rewarmup_share(10, update, 4) for update in (11, 12, 13, 14, 15, 99)] == [0.25, 0.5, 0.75, 1, 1, 1]
    assert rewarmup_share(None, 11, 4) == 1.0
    assert rewarmup_share(10, 11, 0) == 1.0


def test_without_moments_the_rate_rises_again_to_the_schedules(
    make_config: MakeConfig, read_metrics: ReadMetrics
) -> None:
    whole, continued = (make_config(run, steps=14, rewarmup=4) for run in ("whole", "continued"))
    train(whole, quiet=True)
    for _ in range(6):
        train(continued, quiet=True, stop_after=1e-9)
    (last_checkpoint(continued) / OPTIMIZER_FILE).unlink()
    assert train(continued, quiet=True).finished
    schedule, actual = rates(read_metrics(whole.run)), rates(read_metrics(continued.run))
    shares = {update: actual[update] / schedule[update] for update in schedule}
    assert [shares[update] for update in range(1, 15)] == pytest.approx([1] * 6 + [0.25, 0.5, 0.75] + [1] * 5)


def test_the_data_goes_on_where_it_was_and_the_run_still_learns(
    make_config: MakeConfig, read_metrics: ReadMetrics
) -> None:
    whole, continued = (make_config(run, steps=60, rewarmup=5) for run in ("whole", "continued"))
    train(whole, quiet=True)
    train(make_config("continued", steps=30, rewarmup=5), quiet=True)
    (last_checkpoint(continued) / OPTIMIZER_FILE).unlink()
    assert train(continued, quiet=True).finished
    before, after = (RunState.read(last_checkpoint(config)) for config in (whole, continued))
    assert (after.position, after.update, after.forgot_at) == (before.position, 60, 30)
    losses = {r["update"]: r["loss"] for r in read_metrics(continued.run) if r["kind"] == "valid"}
    assert losses[60] < losses[30] < losses[5]


def test_a_rewarmup_that_is_interrupted_goes_on_exactly(make_config: MakeConfig, read_metrics: ReadMetrics) -> None:
    once, pieces = (make_config(run, steps=12, rewarmup=6) for run in ("once", "pieces"))
    for config in (once, pieces):
        for _ in range(3):
            train(config, quiet=True, stop_after=1e-9)
        (last_checkpoint(config) / OPTIMIZER_FILE).unlink()
    train(once, quiet=True)
    while not train(pieces, quiet=True, stop_after=1e-9).finished:
        pass
    assert read_metrics(once.run) == read_metrics(pieces.run)
    for name in ("weights.safetensors", OPTIMIZER_FILE):
        assert (last_checkpoint(once) / name).read_bytes() == (last_checkpoint(pieces) / name).read_bytes()


@pytest.mark.parametrize("without_optimizer", [True, False])
def test_a_run_packed_in_half_precision_goes_on_elsewhere(
    make_config: MakeConfig, read_metrics: ReadMetrics, tmp_path: Path, without_optimizer: bool
) -> None:
    train(make_config("here", steps=20), quiet=True)
    pack(tmp_path / "here", tmp_path / "parts", precision="float16", without_optimizer=without_optimizer)
    unpack(tmp_path / "parts", tmp_path / "there")
    there = make_config("there", steps=40, rewarmup=3)
    assert train(there, quiet=True).finished
    assert (RunState.read(last_checkpoint(there)).forgot_at == 20) is without_optimizer
    losses = {r["update"]: r["loss"] for r in read_metrics(there.run) if r["kind"] == "valid"}
    assert losses[40] < losses[20]
