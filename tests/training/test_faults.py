"""Losses that are not finite are skipped and counted, and end a run when they persist; a diverging run says so."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from maskpredict.checksums import write_checksums
from maskpredict.corpus.batches import PairArrays
from maskpredict.errors import UserError
from maskpredict.model.folder import ModelFolder
from maskpredict.training.adamw import AdamW
from maskpredict.training.checkpoint import RunState, best_loss, checkpoints, newest_checkpoint
from maskpredict.training.config import OptimizerConfig, TrainConfig
from maskpredict.training.divergence import Divergence
from maskpredict.training.engine import EagerEngine, part_seed
from maskpredict.training.loop import train
from maskpredict.training.validation import Validation

MakeConfig = Callable[..., TrainConfig]
ReadMetrics = Callable[[Path | str], list[dict[str, Any]]]
Spoil = Callable[[set[int]], None]


@pytest.fixture
def spoil(monkeypatch: pytest.MonkeyPatch) -> Spoil:
    """Makes the loss of these updates infinite, as an overflow does."""
    compute = EagerEngine.accumulate

    def spoil(updates: set[int]) -> None:
        seeds = {part_seed(1, update, 0) for update in updates}

        def accumulate(self: EagerEngine, arrays: PairArrays, seed: int) -> torch.Tensor:
            sums = compute(self, arrays, seed)
            if seed in seeds:
                for parameter in self.system.parameters():
                    assert parameter.grad is not None
                    parameter.grad.fill_(math.nan)
                sums[0] = math.inf
            return sums

        monkeypatch.setattr(EagerEngine, "accumulate", accumulate)

    return spoil


def weights(config: TrainConfig) -> dict[str, np.ndarray[Any, Any]]:
    return dict(ModelFolder.read(Path(config.run) / "model").weights)


def newest_state(config: TrainConfig) -> RunState:
    saved = newest_checkpoint(Path(config.run) / "checkpoints")
    assert saved is not None
    return saved.state


def test_updates_without_a_finite_loss_are_skipped_and_counted(
    make_config: MakeConfig, read_metrics: ReadMetrics, spoil: Spoil, caplog: pytest.LogCaptureFixture
) -> None:
    spoil({3, 4, 8})
    config = make_config()
    assert train(config, quiet=True).finished
    records = [record for record in read_metrics(config.run) if record["kind"] == "train"]
    assert [record["update"] for record in records if record["loss"] is None] == [3, 4, 8]
    assert [record.get("skipped", 0) for record in records] == [0, 0, 1, 2, 2, 2, 2, 3, 3, 3]
    assert (newest_state(config).skipped, newest_state(config).skipped_in_a_row) == (3, 0)
    assert all(np.isfinite(weight).all() for weight in weights(config).values())
    assert "Update 3 is skipped, since its loss or a gradient is not a finite number (1 such updates" in caplog.text
    assert "Update 4 is skipped" not in caplog.text
    assert "Update 8 is skipped" in caplog.text


def test_a_skipped_update_changes_no_weight(make_config: MakeConfig, spoil: Spoil) -> None:
    spoil(set(range(6, 11)))
    short, spoiled = make_config("short", steps=5, keep_best=0), make_config("spoiled", keep_best=0)
    for config in (short, spoiled):
        train(config, quiet=True)
    before, after = weights(short), weights(spoiled)
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_run_in_pieces_counts_skipped_updates_as_a_whole_one_does(
    make_config: MakeConfig, read_metrics: ReadMetrics, spoil: Spoil
) -> None:
    spoil({2, 3, 7})
    whole, pieces = make_config("whole"), make_config("pieces")
    train(whole, quiet=True)
    while not train(pieces, quiet=True, stop_after=1e-9).finished:
        pass
    assert read_metrics(whole.run) == read_metrics(pieces.run)


def test_a_run_without_finite_losses_ends_with_its_last_good_weights(make_config: MakeConfig, spoil: Spoil) -> None:
    spoil(set(range(6, 1000)))
    config = make_config(max_skipped=4, steps=100)
    with pytest.raises(
        UserError, match=r"a gradient of the last 4 updates, up to 9, is not a finite number; .*float32"
    ):
        train(config, quiet=True)
    saved = newest_checkpoint(Path(config.run) / "checkpoints")
    assert saved is not None
    assert (saved.state.update, saved.state.skipped_in_a_row) == (9, 4)
    short = make_config("short", steps=5, keep_best=0)
    train(short, quiet=True)
    good = weights(short)
    assert all(np.array_equal(saved.weights[name], good[name]) for name in good)


def test_weights_that_are_not_finite_are_never_saved(make_config: MakeConfig) -> None:
    config = make_config(steps=1, keep_best=0)
    train(config, quiet=True)
    (checkpoint,) = checkpoints(Path(config.run) / "checkpoints")
    spoiled = load_file(checkpoint / "weights.safetensors")
    next(weight for weight in spoiled.values() if weight.ndim == 2)[7, 3] = math.inf
    save_file(spoiled, checkpoint / "weights.safetensors")
    write_checksums(checkpoint)
    with pytest.raises(UserError, match=r"weights are not finite numbers after update 3; .*checkpoints keeps the last"):
        train(replace(config, steps=6, checkpoint_every=3), quiet=True)
    assert checkpoints(Path(config.run) / "checkpoints") == [checkpoint]


def test_float16_goes_on_while_it_looks_for_its_loss_scale(make_config: MakeConfig) -> None:
    config = make_config(precision="float16", steps=4, max_skipped=1)
    assert train(config, quiet=True).finished
    assert newest_state(config).skipped == 0, "gradients of too large a scale are no fault"


def test_a_fused_optimizer_skips_on_the_device() -> None:
    """As on a GPU, where reading the loss of every update would make the host wait."""
    parameter = torch.nn.Parameter(torch.ones(3))
    adam = AdamW([parameter], OptimizerConfig(rate=0.1), fused=True)
    for value, found in ((1.0, 0.0), (math.nan, 1.0), (1.0, 0.0)):
        before = parameter.detach().clone()
        parameter.grad = torch.full((3,), value)
        adam.step(found_inf=torch.tensor(found))
        assert torch.equal(parameter.detach(), before) == bool(found)
    assert float(adam.state[parameter]["step"]) == 2


def test_a_validation_loss_that_is_no_number_is_never_the_best(
    make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute, number = Validation.losses, itertools.count(1)

    def losses(self: Validation, dtype: torch.dtype) -> dict[str, float]:
        return compute(self, dtype) | ({"loss": math.nan} if next(number) in (1, 3) else {})

    monkeypatch.setattr(Validation, "losses", losses)
    config = make_config(validation={"every": 2}, steps=8)
    assert train(config, quiet=True).finished
    best = checkpoints(Path(config.run) / "best-2")
    assert [path.name for path in best] == ["update-00000004", "update-00000008"]
    assert newest_state(config).best_loss == min(map(best_loss, best))


def test_a_diverging_run_says_so_once(make_config: MakeConfig, caplog: pytest.LogCaptureFixture) -> None:
    wild = make_config("wild", steps=40, optimizer={"rate": 30.0, "warmup": 20, "clip": 0.0})
    train(wild, quiet=True)
    said = [record.getMessage() for record in caplog.records if "diverges" in record.getMessage()]
    assert len(said) == 1
    assert "lower optimizer.rate or a longer optimizer.warmup" in said[0]


def test_a_single_bad_batch_is_no_divergence() -> None:
    divergence = Divergence()
    losses = [4.0] * 20 + [9.0] + [4.0] * 20
    assert [divergence.observe(loss, update) for update, loss in enumerate(losses)] == [None] * 41
    assert divergence.observe(100.0, 42) is not None


def test_faults_may_be_judged_otherwise_when_a_run_continues(make_config: MakeConfig) -> None:
    config = make_config()
    train(config, quiet=True, stop_after=1e-9)
    assert train(replace(config, max_skipped=7, stuck_after=None), quiet=True).finished
