"""Lengths that are too unlikely are not tried, or stand behind the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maskpredict.errors import UserError
from maskpredict.runtime.translator import Translator

SETTINGS: dict[str, Any] = {"iterations": 3, "length_candidates": 5}


@pytest.fixture(scope="module")
def cmlm(cmlm_folder: Path) -> Translator:
    return Translator(cmlm_folder, device="cpu")


def test_only_likely_lengths_are_tried(cmlm: Translator, sentences: list[str]) -> None:
    every = cmlm.translate(sentences, **SETTINGS)
    few = cmlm.translate(sentences, **SETTINGS, length_threshold=0.2)
    assert all(row.lengths == of_all.lengths[: len(row.lengths)] for row, of_all in zip(few, every, strict=True))
    assert 1 <= min(len(row.lengths) for row in few) < 5
    assert cmlm.translate(sentences, **SETTINGS, length_threshold=1e-9) == every


def test_a_threshold_of_one_leaves_the_likeliest_length(cmlm: Translator, sentences: list[str]) -> None:
    alone = cmlm.translate(sentences, iterations=3, length_candidates=1)
    assert cmlm.translate(sentences, **SETTINGS, length_threshold=1.0) == alone


def test_asking_for_more_hypotheses_does_not_change_the_best(cmlm: Translator, sentences: list[str]) -> None:
    best = cmlm.translate(sentences, **SETTINGS, length_threshold=0.2)
    several = cmlm.translate(sentences, **SETTINGS, length_threshold=0.2, num_hypotheses=4)
    assert [row.text for row in several] == [row.text for row in best]
    assert all(len(row.hypotheses) == 4 for row in several)


@pytest.mark.parametrize("value", [0.0, -0.5, 1.5])
def test_a_threshold_that_is_no_share_is_refused(cmlm: Translator, value: float) -> None:
    with pytest.raises(UserError, match="length_threshold is"):
        cmlm.translate(["x"], length_threshold=value)
