"""Training of alignment models: pairs that do not fit, what is revealed, and where training starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maskpredict
from maskpredict import Translator
from maskpredict.config import load_config
from maskpredict.corpus.dataset import ParallelIds
from maskpredict.corpus.ids import IdsFile, IdsWriter
from maskpredict.errors import UserError
from maskpredict.model.folder import ModelFolder
from maskpredict.systems import unalignable
from maskpredict.systems.unalignable import count_unalignable, warn_of_unalignable
from maskpredict.training.config import TrainConfig
from maskpredict.training.loop import train

MakeConfig = Callable[..., TrainConfig]
RECIPES = Path(maskpredict.__file__).parent / "recipes"


def split_of(folder: Path, pairs: list[tuple[list[int], list[int]]]) -> ParallelIds:
    for side, name in enumerate(("source", "target")):
        with IdsWriter(folder / name, 100) as writer:
            for pair in pairs:
                writer.append(pair[side])
    return ParallelIds(IdsFile(folder / "source"), IdsFile(folder / "target"), [], None)


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_pairs_that_do_not_fit_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(unalignable, "PAIRS_AT_ONCE", at_once)
    split = split_of(
        tmp_path,
        [
            ([5], [6, 7, 8]),  # with end marks, 4 words at 4 positions
            ([5], [6, 7, 8, 9]),  # one too many
            ([5], [8, 8, 9]),  # a blank too many
            ([5, 6], [9, 9, 9]),  # 4 words and 2 blanks at 6 positions
            ([], [9]),  # 2 words at 2 positions
            ([], [9, 9]),
            ([5], [9]),  # the end of one target and the start of the next are no neighbours
        ],
    )
    assert count_unalignable(split, 2) == 3
    assert count_unalignable(split, 3) == 1
    assert count_unalignable(split, 100) == 0


def test_training_says_how_many_pairs_it_leaves_out(make_config: MakeConfig, caplog: pytest.LogCaptureFixture) -> None:
    model = {"width": 16, "hidden": 16, "heads": 1, "encoder_layers": 1, "decoder_layers": 1, "ctc_positions": 1}
    assert train(make_config("tight", system="alignment", steps=2, model=model), quiet=True).model is not None
    messages = [record.getMessage() for record in caplog.records]
    assert any("of 545 training pairs" in message and "too long for 1 positions" in message for message in messages)


def test_text_in_which_no_pair_fits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no training pair fits 1 positions"):
        warn_of_unalignable(split_of(tmp_path, [([5], [6, 7]), ([5], [8, 8])]), 1)


def test_an_update_without_a_pair_that_fits_does_no_harm(
    make_config: MakeConfig, read_metrics: Callable[[Path | str], list[dict[str, Any]]]
) -> None:
    model = {"width": 16, "hidden": 16, "heads": 1, "encoder_layers": 1, "decoder_layers": 1, "ctc_positions": 1}
    # Updates of a single pair each, of which every eighth does not fit.
    batch = {"tokens": 24, "part_tokens": 24, "max_length": 24}
    config = make_config("tight", system="ctc", steps=80, model=model, batch=batch)
    assert train(config, quiet=True).model is not None
    losses = [record["loss"] for record in read_metrics(config.run) if record["kind"] == "train"]
    assert 0.0 in losses
    assert all(np.isfinite(loss) for loss in losses)


def test_an_alignment_model_starts_from_a_cmlm_and_resumes_exactly(
    make_config: MakeConfig, read_metrics: Callable[[Path], object]
) -> None:
    cmlm = train(make_config("cmlm", steps=3), quiet=True).model
    settings = {"system": "alignment", "start_from": str(cmlm), "reveal": {"partial": 0.4, "glancing": 0.4}}
    whole = train(make_config("whole", **settings), quiet=True).model
    halves = make_config("halves", **settings)
    assert not train(halves, stop_after=0.0, quiet=True).finished
    again = train(halves, quiet=True).model
    assert whole is not None
    assert again is not None
    first, second = ModelFolder.read(whole), ModelFolder.read(again)
    assert all(np.array_equal(first.weights[name], second.weights[name]) for name in first.weights)
    assert read_metrics(whole.parent) == read_metrics(again.parent)
    assert first.system == "alignment"
    assert Translator(whole).translate(["bane."], iterations=2)[0].passes == 2


def test_the_recipe_of_a_compact_model_trains_it(data_folder: Path, tmp_path: Path) -> None:
    small = ["steps=1", "batch.tokens=64", "batch.part_tokens=64", "device=cpu", "threads=1"]
    given = [f"data={data_folder}", f"run={tmp_path / 'run'}", *small]
    config = load_config(TrainConfig, RECIPES / "compact-alignment.yaml", given)
    model = train(config, quiet=True).model
    assert model is not None
    shape = ModelFolder.read(model).config
    assert (shape.encoder_layers, shape.decoder_layers, shape.width, shape.ctc_positions) == (6, 2, 256, 2)
    assert Translator(model).translate(["bane."], iterations=2)[0].passes == 2


def test_what_is_revealed_is_for_alignments_alone(make_config: MakeConfig) -> None:
    with pytest.raises(UserError, match="reveal is for system=alignment"):
        make_config(reveal={"partial": 0.9, "glancing": 0.0})


def test_bigram_matches_are_a_part_of_the_loss_of_alignments_alone(
    make_config: MakeConfig, read_metrics: Callable[[Path | str], list[dict[str, Any]]]
) -> None:
    config = make_config("bigrams", system="alignment", steps=2, bigram_matches=0.5)
    assert train(config, quiet=True).model is not None
    assert all(record["loss"] < record["word"] for record in read_metrics(config.run))
    with pytest.raises(UserError, match="bigram_matches is for system=alignment or ctc; leave it out"):
        make_config(bigram_matches=0.5)
