"""Averaging: a run, its checkpoints and model folders become one model with the mean of their weights."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig
from maskpredict.corpus.vocabulary import VocabularyConfig
from maskpredict.errors import UserError
from maskpredict.model.folder import ModelFolder
from maskpredict.runtime.translator import Translator
from maskpredict.training.average import average
from maskpredict.training.config import BatchConfig, TrainConfig, ValidationConfig
from maskpredict.training.loop import train

SIZE = {"width": 16, "hidden": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "max_positions": 64}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of eight updates that keeps its three best checkpoints."""
    folder = tmp_path_factory.mktemp("average")
    chance = random.Random(1)
    words = ["bane", "kosa", "timo", "luri", "bake", "kofu"]
    lines = {" ".join(chance.choices(words, k=chance.randint(3, 7))): None for _ in range(80)}
    (folder / "text.tsv").write_text("".join(f"{line}\t{line[::-1]}\n" for line in lines))
    corpora = (CorpusConfig(tsv=folder / "text.tsv"),)
    prepare(PrepareConfig("xx", "yy", folder / "data", corpora, corpora, vocabulary=VocabularyConfig(size=40)))
    train(
        TrainConfig(
            data=str(folder / "data"),
            run=str(folder / "run"),
            preset="tiny",
            model=SIZE,
            steps=8,
            batch=BatchConfig(tokens=256, part_tokens=256, max_length=32),
            validation=ValidationConfig(every=2),
            keep_best=3,
            device="cpu",
        ),
        quiet=True,
    )
    return folder / "run"


def mean(files: list[Path]) -> dict[str, Tensor]:
    tensors = [load_file(file) for file in files]
    return {name: torch.stack([own[name].double() for own in tensors]).mean(0).float() for name in tensors[0]}


def equal(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def best_checkpoints(run: Path) -> list[Path]:
    found = sorted((run / "best-3").iterdir())
    assert len(found) == 3
    return found


def test_a_run_gives_the_mean_of_its_best_checkpoints(run: Path, tmp_path: Path) -> None:
    report = average([run], tmp_path / "mean")
    assert report.averaged == tuple(best_checkpoints(run))
    expected = mean([folder / "weights.safetensors" for folder in best_checkpoints(run)])
    assert equal(load_file(tmp_path / "mean" / "model.safetensors"), expected)


def test_it_is_the_model_that_the_run_ended_with(run: Path, tmp_path: Path) -> None:
    average([run], tmp_path / "mean")
    names = {path.name for path in (run / "model").iterdir()}
    assert names == {path.name for path in (tmp_path / "mean").iterdir()}
    for name in names - {"config.json"}:
        assert (tmp_path / "mean" / name).read_bytes() == (run / "model" / name).read_bytes()
    mean_of_them, ended_with = (
        json.loads((folder / "config.json").read_text()) for folder in (tmp_path / "mean", run / "model")
    )
    # Other means may be of several runs, so only the run's own model has the record of its training.
    assert ended_with.pop("training")["weights"] == "mean of 3"
    assert mean_of_them == ended_with


def test_a_moved_run_is_averaged_all_the_same(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "moved")
    assert average([tmp_path / "moved"], tmp_path / "mean").averaged[0].is_relative_to(tmp_path / "moved")


def test_single_checkpoints_and_folders_of_them_can_be_named(run: Path, tmp_path: Path) -> None:
    first, _, last = best_checkpoints(run)
    average([first, last], tmp_path / "two")
    expected = mean([first / "weights.safetensors", last / "weights.safetensors"])
    assert equal(load_file(tmp_path / "two" / "model.safetensors"), expected)
    assert average([run / "best-3"], tmp_path / "all").averaged == tuple(best_checkpoints(run))


def test_a_checkpoint_that_is_named_twice_counts_once(run: Path, tmp_path: Path) -> None:
    (last,) = (run / "checkpoints").iterdir()
    assert last.name in [path.name for path in best_checkpoints(run)], "it is in both folders"
    report = average([run / "best-3", run / "checkpoints"], tmp_path / "both")
    assert report.averaged == tuple(best_checkpoints(run))
    expected = mean([folder / "weights.safetensors" for folder in best_checkpoints(run)])
    assert equal(load_file(tmp_path / "both" / "model.safetensors"), expected)
    model = run / "model"
    assert average([model, model.parent / "." / "model"], tmp_path / "model").averaged == (model,)


def test_models_are_averaged_into_one_that_translates(run: Path, tmp_path: Path) -> None:
    for folder in best_checkpoints(run)[:2]:
        average([folder], tmp_path / folder.name)
    models = [tmp_path / folder.name for folder in best_checkpoints(run)[:2]]
    average(models, tmp_path / "mean")
    expected = mean([model / "model.safetensors" for model in models])
    assert equal(load_file(tmp_path / "mean" / "model.safetensors"), expected)
    assert len(Translator(tmp_path / "mean", device="cpu").translate(["bane kosa"])) == 1


def test_models_of_different_kinds_are_refused(run: Path, tmp_path: Path) -> None:
    contents = ModelFolder.read(run / "model")
    transformer = {name: weight for name, weight in contents.weights.items() if not name.startswith("length.")}
    replace(contents, system="autoregressive", weights=transformer).write(tmp_path / "other")
    replace(contents, config=replace(contents.config, heads=4)).write(tmp_path / "shape")
    for other in ("other", "shape"):
        with pytest.raises(UserError, match=r"another kind of model than .* average like with like"):
            average([run / "model", tmp_path / other], tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


def test_a_folder_without_checkpoints_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no checkpoints to average"):
        average([tmp_path], tmp_path / "mean")


def test_a_checkpoint_out_of_its_run_is_refused(run: Path, tmp_path: Path) -> None:
    shutil.copytree(best_checkpoints(run)[0], tmp_path / "lost" / "update-1")
    with pytest.raises(UserError, match="does not lie in its run folder"):
        average([tmp_path / "lost" / "update-1"], tmp_path / "mean")


def test_an_earlier_model_is_replaced_only_when_asked(run: Path, tmp_path: Path) -> None:
    first, *_, last = best_checkpoints(run)
    average([first], tmp_path / "mean")
    with pytest.raises(UserError, match="is not empty"):
        average([last], tmp_path / "mean")
    average([last], tmp_path / "mean", overwrite=True)
    assert equal(load_file(tmp_path / "mean" / "model.safetensors"), load_file(last / "weights.safetensors"))
