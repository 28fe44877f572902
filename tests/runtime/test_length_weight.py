"""How likely a length is may count in the choice between finished candidates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maskpredict.decoding.candidates import CompletedDraft, ranked
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.errors import UserError
from maskpredict.runtime.translator import Translator

SETTINGS: dict[str, Any] = {"iterations": 3, "length_candidates": 5}


@pytest.fixture(scope="module")
def cmlm(cmlm_folder: Path) -> Translator:
    return Translator(cmlm_folder, device="cpu")


def test_a_likelier_length_makes_up_for_less_confident_words() -> None:
    sure, likely = (
        CompletedDraft([5], [-0.1], -0.1, 1, [], length_log_prob=-3.0),
        CompletedDraft([6, 2], [-0.2] * 2, -0.2, 1, []),
    )
    by_words, by_both = (ranked([sure, likely], MaskPredictSettings(length_weight=weight)) for weight in (0.01, 0.1))
    assert by_words[0].ids == [5]
    assert by_both[0].ids == [6, 2]
    assert by_both[0].score == -0.2  # the words' alone


def test_a_large_weight_takes_the_likeliest_length(cmlm: Translator, sentences: list[str]) -> None:
    alone = cmlm.translate(sentences, iterations=3, length_candidates=1)
    weighed = cmlm.translate(sentences, **SETTINGS, length_weight=1e6)
    assert [row.text for row in weighed] == [row.text for row in alone]
    plain = cmlm.translate(sentences, **SETTINGS)
    assert [row.text for row in plain] != [row.text for row in alone]
    assert cmlm.translate(sentences, **SETTINGS, length_weight=0.0) == plain


@pytest.mark.parametrize("value", [-0.5, float("nan"), float("inf")])
def test_a_weight_below_zero_is_refused(cmlm: Translator, value: float) -> None:
    with pytest.raises(UserError, match="length_weight is"):
        cmlm.translate(["x"], length_weight=value)
