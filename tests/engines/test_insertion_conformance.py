"""Insertion models run with PyTorch, and other engines say that they do not run them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from maskpredict import Translator, UserError


@pytest.fixture(scope="module")
def translator(insertion_folder: Path) -> Translator:
    return Translator(insertion_folder, device="cpu")


def test_pytorch_is_chosen(translator: Translator) -> None:
    assert (translator.engine.name, translator.compute_type) == ("torch", "float32")


@pytest.mark.parametrize("insertions", ["parallel", "greedy"])
def test_batch_and_order_change_nothing(translator: Translator, sentences: list[str], insertions: str) -> None:
    together = translator.translate(sentences, insertions=insertions)
    assert any(one.passes > 3 for one in together)
    order = random.Random(2).sample(range(len(sentences)), len(sentences))
    again = translator.translate(
        [sentences[place] for place in order], insertions=insertions, max_batch_size=3, batch_type="examples"
    )
    assert again == [together[place] for place in order]


def test_score_prefers_what_the_model_says(translator: Translator, sentences: list[str]) -> None:
    said = [one.text for one in translator.translate(sentences[:20])]
    scored = translator.score(sentences[:20], said)
    other = translator.score(sentences[:20], [*said[1:], said[0]])
    assert sum(one.score for one in scored) > sum(one.score for one in other)


def test_empty_short_and_long_sources(translator: Translator, sentences: list[str]) -> None:
    empty, short, long = translator.translate(["", "lu", " ".join(sentences[40:60])])
    assert empty.text == ""
    assert short.passes >= 1
    assert len(long.parts) > 1


@pytest.mark.parametrize(
    ("engine", "compute_type", "sentence"),
    [
        ("onnxruntime", "float32", "onnxruntime does not run models of the system insertion; choose engine auto"),
        ("int8", "int8", "models of the system insertion are not computed in int8; choose compute_type float32"),
        ("auto", "int8", "does not compute in int8; choose float16 or bfloat16 on a GPU, else float32"),
    ],
)
def test_other_engines_refuse(insertion_folder: Path, engine: str, compute_type: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        Translator(insertion_folder, device="cpu", engine=engine, compute_type=compute_type)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"iterations": 4}, "iterations is not a setting of insertion models; they have insertions"),
        ({"insertions": "serial"}, "must be one of parallel, greedy"),
    ],
)
def test_settings_of_other_systems_are_refused(translator: Translator, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        translator.translate(["luri."], **settings)
