"""Whole runs: what they leave behind, when they end, and what they refuse."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from maskpredict.checksums import write_checksums
from maskpredict.config import load_config
from maskpredict.corpus.batches import PairArrays, epoch_order
from maskpredict.corpus.dataset import Dataset
from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.hypothesis import Request
from maskpredict.engines.torch.loading import load_system
from maskpredict.errors import UserError
from maskpredict.model.folder import ModelFolder
from maskpredict.systems.base import System
from maskpredict.training.checkpoint import average_weights, best_loss, checkpoints
from maskpredict.training.config import OptimizerConfig, TrainConfig
from maskpredict.training.engine import EagerEngine
from maskpredict.training.loop import train
from maskpredict.training.setup import training_split

MakeConfig = Callable[..., TrainConfig]
ReadMetrics = Callable[[Path | str], list[dict[str, Any]]]


@pytest.mark.parametrize("system", ["cmlm", "autoregressive"])
def test_a_run_lowers_the_loss_and_leaves_a_model_that_translates(
    make_config: MakeConfig, read_metrics: ReadMetrics, decoder_of: Callable[[System], Decoder], system: str
) -> None:
    config = make_config(system=system, steps=40, validation={"every": 20})
    result = train(config, quiet=True)
    assert (result.finished, result.updates) == (True, 40)
    losses = [record["loss"] for record in read_metrics(config.run) if record["kind"] == "valid"]
    assert losses[1] < losses[0]
    assert result.model is not None
    decoder = decoder_of(load_system(ModelFolder.read(result.model)))
    settings = decoder.settings_type(suppress_tokens=(0, 1, 4))
    assert decoder.translate([Request((7, 8, 2))], settings)[0][0].ids


def test_a_run_folder_holds_config_metrics_checkpoint_best_and_model(make_config: MakeConfig) -> None:
    config = make_config(validation={"every": 2})
    train(config, quiet=True)
    run = Path(config.run)
    expected = {"config.yaml", "metrics.jsonl", "tensorboard", "checkpoints", "best-2", "model"}
    assert {path.name for path in run.iterdir()} == expected
    assert load_config(TrainConfig, run / "config.yaml") == config
    assert [path.name for path in checkpoints(run / "checkpoints")] == ["update-00000009", "update-00000010"]


def test_every_update_is_recorded_with_its_rate_and_the_parts_of_its_loss(
    make_config: MakeConfig, read_metrics: ReadMetrics
) -> None:
    config = make_config()
    train(config, quiet=True)
    records = [record for record in read_metrics(config.run) if record["kind"] == "train"]
    assert [record["update"] for record in records] == list(range(1, 11))
    assert [record["rate"] for record in records[:5]] == pytest.approx(
        [7.5e-4, 1.5e-3, 2.25e-3, 3e-3, 3e-3 * (4 / 5) ** 0.5]
    )
    assert all(record["loss"] > 0 and record["word"] > 0 and record["length"] > 0 for record in records)


def test_the_finished_model_is_the_mean_of_the_best_and_never_produces_PAD_BOS_or_MASK(
    make_config: MakeConfig, read_metrics: ReadMetrics
) -> None:
    config = make_config(validation={"every": 2})
    model = train(config, quiet=True).model
    assert model is not None
    best = checkpoints(Path(config.run) / "best-2")
    losses = sorted(record["loss"] for record in read_metrics(config.run) if record["kind"] == "valid")
    assert sorted(best_loss(path) for path in best) == pytest.approx(losses[:2])
    contents = ModelFolder.read(model)
    mean = {name: weight.numpy() for name, weight in average_weights(best).items()}
    torch.testing.assert_close(dict(contents.weights), mean)
    assert contents.generation["suppress_tokens"] == [0, 1, 4]


def test_validation_uses_fixed_masks_so_that_checkpoints_compare(
    make_config: MakeConfig, read_metrics: ReadMetrics
) -> None:
    # With a rate of next to nothing the weights stay as they are: only other masks could change the loss.
    still = OptimizerConfig(rate=1e-12, warmup=1, weight_decay=0.0)
    config = replace(make_config(validation={"every": 1}, steps=4), optimizer=still)
    train(config, quiet=True)
    losses = [record["loss"] for record in read_metrics(config.run) if record["kind"] == "valid"]
    assert losses == pytest.approx([losses[0]] * 4, abs=1e-6)
    trained = [record["loss"] for record in read_metrics(config.run) if record["kind"] == "train"]
    assert max(trained) - min(trained) > 1e-3


def test_validation_does_not_disturb_training(make_config: MakeConfig, read_metrics: ReadMetrics) -> None:
    losses = []
    for run, every in (("often", 1), ("seldom", 10)):
        config = make_config(run, validation={"every": every})
        train(config, quiet=True)
        losses.append([record for record in read_metrics(config.run) if record["kind"] == "train"])
    assert losses[0] == losses[1]


def test_without_a_number_validation_comes_at_the_end_of_each_epoch_and_of_the_run(
    make_config: MakeConfig, read_metrics: ReadMetrics
) -> None:
    config = make_config(validation={}, steps=60, keep_best=1)
    train(config, quiet=True)
    records = read_metrics(config.run)
    ends = [r["update"] for r, after in pairwise(records) if after["kind"] == "valid"]
    firsts = [r["update"] for r in records if r["kind"] == "train" and r["epoch"] > 0]
    assert ends[0] == firsts[0]  # `epoch` is that of the next update
    assert ends[-1] == 60


def test_a_run_that_keeps_no_best_checkpoint_ends_with_its_last_weights(make_config: MakeConfig) -> None:
    config = make_config(validation={"every": 5}, steps=10, keep_best=0)
    model = train(config, quiet=True).model
    assert model is not None
    *_, last = checkpoints(Path(config.run) / "checkpoints")
    weights = load_file(model / "model.safetensors")
    for name, weight in load_file(last / "weights.safetensors").items():
        assert torch.equal(weights[name], weight)


def test_bleu_is_recorded_when_sentences_are_asked_for(make_config: MakeConfig, read_metrics: ReadMetrics) -> None:
    decoding = {"iterations": 2, "length_candidates": 1}
    config = make_config(validation={"every": 10, "bleu_sentences": 12, "decoding": decoding})
    train(config, quiet=True)
    (valid,) = [record for record in read_metrics(config.run) if record["kind"] == "valid"]
    assert 0.0 <= valid["bleu"] <= 100.0


def test_a_run_stops_when_validation_no_longer_improves_and_stays_stopped(
    make_config: MakeConfig, read_metrics: ReadMetrics
) -> None:
    wild = OptimizerConfig(rate=0.5, warmup=1)  # gets worse at once
    config = replace(make_config(validation={"every": 1, "patience": 2}, steps=50), optimizer=wild)
    result = train(config, quiet=True)
    assert result.finished
    assert result.updates < 50
    losses = [record["loss"] for record in read_metrics(config.run) if record["kind"] == "valid"]
    assert len(losses) - 1 - losses.index(min(losses)) == 2
    again = train(config, quiet=True)
    assert (again.finished, again.updates) == (True, result.updates)


def test_a_run_ends_when_its_time_is_over(make_config: MakeConfig) -> None:
    result = train(make_config(steps=100_000, seconds=1.0), quiet=True)
    assert result.finished
    assert 0 < result.updates < 100_000


def test_training_is_the_same_every_time_and_differs_with_the_seed(
    make_config: MakeConfig, read_metrics: ReadMetrics
) -> None:
    records = []
    for run, seed in (("one", 1), ("two", 1), ("three", 2)):
        config = make_config(run, seed=seed)
        train(config, quiet=True)
        records.append(read_metrics(config.run))
    assert records[0] == records[1]
    assert records[0] != records[2]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"system": "cmml"}, "no system 'cmml'"),
        ({"validation": {"decoding": {"iteratons": 3}}}, "did you mean 'iterations'"),
        ({"batch": {"tokens": 64, "part_tokens": 64, "max_length": 1}}, "raise max_length"),
        ({"engine": "captured"}, "engine=captured needs a GPU"),
        ({"device": "tpu9"}, "the device 'tpu9' cannot be used here; choose auto"),
        ({"start_from": "nowhere"}, "no model folder nowhere"),
        ({"data": "nowhere"}, "not a data folder"),
        ({"corpus_weights": {"three": 2.0}}, "corpus_weights names 'three'; the data has one, two"),
        ({"corpus_weights": {"one": 0.0, "two": 0.0}}, "corpus_weights leaves no training pair"),
    ],
    ids=str,
)
def test_a_mistake_is_named_and_leaves_no_run_folder(
    make_config: MakeConfig, tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        train(make_config("refused", **changes), quiet=True)
    assert not (tmp_path / "refused").exists()


def test_a_corpus_can_be_drawn_more_often_than_the_data_says(
    make_config: MakeConfig, read_metrics: ReadMetrics
) -> None:
    split = training_split(make_config(corpus_weights={"two": 5.0}), Dataset(Path(make_config().data)))
    assert [(part.name, part.weight) for part in split.corpora] == [("one", 1.0), ("two", 5.0)]
    losses: dict[str, list[float]] = {}
    for weights in ({}, {"two": 2.0}, {"two": 5.0}):
        config = make_config(f"run-{len(losses)}", corpus_weights=weights, steps=3)
        train(config, quiet=True)
        losses[str(weights)] = [record["loss"] for record in read_metrics(config.run)]
    as_the_data_says, the_same, more_often = losses.values()
    assert as_the_data_says == the_same != more_often


def test_a_corpus_of_weight_zero_is_left_out(make_config: MakeConfig) -> None:
    config = make_config(corpus_weights={"one": 0.0})
    split = training_split(config, Dataset(Path(config.data)))
    two = split.corpora[1]
    assert set(epoch_order(split, seed=1, epoch=0)) == set(range(two.first, two.first + two.pairs))
    train(config, quiet=True)
    assert (Path(config.run) / "model" / "model.safetensors").exists()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"stesp": 3}, "did you mean 'steps'"),
        ({"preset": "huge"}, "no model preset 'huge'"),
        ({"model": {"widht": 3}}, "did you mean 'model.width'"),
        ({"steps": 0}, "'steps' must be a whole number of at least 1, not 0"),
        ({"corpus_weights": {"one": -1.0}}, "'corpus_weights.one' must be a number of at least 0, not -1.0"),
        ({"model": {"dropout": 2}}, "'model.dropout' must be a number of at least 0 and below 1, not 2"),
        ({"model": {"heads": 0}}, "'model.heads' must be a whole number of at least 1, not 0"),
        ({"optimizer": {"rate": -1}}, "'optimizer.rate' must be a number above 0, not -1"),
        ({"optimizer": {"beta1": 1.0}}, "'optimizer.beta1' must be a number of at least 0 and below 1"),
        ({"validation": {"every": 0}}, "'validation.every' must be a whole number of at least 1 or null"),
        ({"label_smoothing": 1.5}, "'label_smoothing' must be a number of at least 0 and below 1"),
        ({"seconds": 0}, "'seconds' must be a number above 0 or null, not 0"),
        ({"seed": -1}, "'seed' must be a whole number of at least 0"),
        ({"threads": 0}, "'threads' must be a whole number of at least 1 or null"),
        ({"batch": {"max_length": 64}}, "batch.max_length is 64; it must be below model.max_positions"),
        ({"batch": {"tokens": 8, "part_tokens": 9}}, "is larger than batch.tokens"),
        ({"optimizer": {"schedule": "cosine"}}, "must be one of inverse_sqrt, linear"),
        ({"order": {"temperature": 0.5}}, "order is for system=insertion; leave it out of a run with system=cmlm"),
        (
            {"system": "insertion", "order": {"temperature": 0.0}},
            "'order.temperature' must be a number above 0 or null",
        ),
    ],
    ids=str,
)
def test_an_impossible_config_is_refused(make_config: MakeConfig, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        make_config(**changes)


def test_a_folder_that_holds_another_run_is_refused_and_left_as_it_is(make_config: MakeConfig) -> None:
    config = make_config(steps=2)
    train(config, quiet=True)
    before = (Path(config.run) / "config.yaml").read_text()
    for changes in ({"seed": 2}, {"model": {**config.model, "dropout": 0.2}}, {"label_smoothing": 0.0}):
        (name,) = changes
        with pytest.raises(UserError, match=f"holds a run with {name}="):
            train(make_config(**{"steps": 2, **changes}), quiet=True)
    assert (Path(config.run) / "config.yaml").read_text() == before


def test_a_folder_with_something_else_in_it_is_refused(make_config: MakeConfig) -> None:
    config = make_config()
    Path(config.run).mkdir()
    (Path(config.run) / "letter.txt").write_text("Dear all,")
    with pytest.raises(UserError, match="is not empty and holds no run"):
        train(config, quiet=True)
    assert [path.name for path in Path(config.run).iterdir()] == ["letter.txt"]


def test_data_without_a_validation_split_is_refused(make_config: MakeConfig, tmp_path: Path) -> None:
    config = make_config()
    shutil.copytree(config.data, tmp_path / "data")
    description = (tmp_path / "data" / "dataset.json").read_text()
    (tmp_path / "data" / "dataset.json").write_text(description.replace('"valid": {', '"other": {'))
    write_checksums(tmp_path / "data")
    with pytest.raises(UserError, match="no split 'valid'"):
        train(replace(config, data=str(tmp_path / "data")), quiet=True)


def test_too_little_memory_halves_the_parts_and_goes_on(
    make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    config = make_config(batch={"tokens": 400, "part_tokens": 400, "max_length": 40})
    whole_part = EagerEngine.accumulate

    def on_a_small_device(self: EagerEngine, arrays: PairArrays, seed: int) -> torch.Tensor:
        if arrays.target_tokens > 250:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return whole_part(self, arrays, seed)

    monkeypatch.setattr(EagerEngine, "accumulate", on_a_small_device)
    assert train(config, quiet=True).finished
    assert "do not fit the memory" in caplog.text


def test_memory_that_not_even_small_parts_fit_is_an_error(
    make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: EagerEngine, arrays: PairArrays, seed: int) -> torch.Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(EagerEngine, "accumulate", full)
    with pytest.raises(UserError, match="do not fit the memory; reduce batch"):
        train(make_config(), quiet=True)
