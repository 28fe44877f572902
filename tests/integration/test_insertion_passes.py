"""An insertion model, from the command line to its passes: their number grows like the logarithm of the length."""

from __future__ import annotations

from math import floor, log2
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from maskpredict import Translation, Translator
from maskpredict.cli import app
from maskpredict.model.folder import ModelFolder

LETTERS = "abcdefghijkl"
SENTENCES = [
    " ".join(LETTERS[first:end]) for first in range(len(LETTERS)) for end in range(first + 1, len(LETTERS) + 1)
]
"""Every stretch of the alphabet; the other language writes it in capitals."""

PREPARE = """
source_language: xx
target_language: yy
out: {folder}/data
train: [{{source: {folder}/text.xx, target: {folder}/text.yy}}]
valid: [{{source: {folder}/text.xx, target: {folder}/text.yy}}]
vocabulary: {{size: 54}}
"""
TRAIN = """
data: {folder}/data
run: {folder}/run
system: insertion
preset: tiny
model: {{width: 64, hidden: 128, heads: 2, encoder_layers: 1, dropout: 0.0, max_positions: 32}}
label_smoothing: 0.0
steps: 900
batch: {{tokens: 288, part_tokens: 288, max_length: 24}}
optimizer: {{rate: 4.0e-3, warmup: 50, schedule: linear, beta2: 0.98, clip: 0.0}}
validation: {{every: 2000}}
keep_best: 0
device: cpu
threads: 1
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("insertion")
    (folder / "text.xx").write_text("\n".join(SENTENCES) + "\n")
    (folder / "text.yy").write_text("\n".join(SENTENCES).upper() + "\n")
    for verb, config in (("prepare", PREPARE), ("train", TRAIN)):
        file = folder / f"{verb}.yaml"
        file.write_text(config.format(folder=folder))
        done = CliRunner().invoke(app, [verb, str(file)])
        assert done.exit_code == 0, done.output
    return folder / "run" / "model"


def right(model: Path, **settings: Any) -> list[Translation]:
    """The translations that are right, of all sentences."""
    translator = Translator(model, device="cpu", compute_type="float32")
    assert translator.engine.name == "torch"
    translations = translator.translate(SENTENCES, raw=True, end_penalty=1.0, **settings)
    return [one for one, text in zip(translations, SENTENCES, strict=True) if one.text == text.upper()]


def test_words_are_inserted_in_as_many_passes_as_a_balanced_tree_has_levels(model: Path) -> None:
    translations = right(model)
    # Most sentences are right after these few seconds of training, long ones among them.
    assert len(translations) > 0.4 * len(SENTENCES)
    passes = {(len(one.tokens) - 1, one.passes) for one in translations}
    assert max(words for words, _ in passes) >= 8
    # The last pass finds that nothing is missing. A word that is not quite in the middle may cost another pass.
    assert all(floor(log2(words)) + 2 <= count <= floor(log2(words)) + 3 for words, count in passes)
    balanced = sum(one.passes == floor(log2(len(one.tokens) - 1)) + 2 for one in translations)
    assert balanced > 0.8 * len(translations)


def test_greedily_a_word_takes_a_pass(model: Path) -> None:
    translations = right(model, insertions="greedy")
    assert len(translations) > 0.2 * len(SENTENCES)
    assert all(one.passes == len(one.tokens) for one in translations)
    assert max(one.passes for one in translations) >= 6


def test_the_folder_says_how_the_model_was_trained(model: Path) -> None:
    training = ModelFolder.read(model).training
    assert training is not None
    assert (training.start, training.updates, training.weights) == ("random", 900, "last")
    assert training.target_tokens is not None
    assert 900 * 60 < training.target_tokens < 900 * 288
