"""The share of outputs that are a valid translation."""

from __future__ import annotations

import pytest

from maskpredict.errors import UserError
from maskpredict.evaluate.exact_match import exact_match


def test_any_of_the_valid_translations_will_do() -> None:
    references = [{"lo mi", "mi lo"}, {"ta"}, {"ra su", "su"}]
    assert exact_match(["mi lo", "ta", "su"], references) == 1.0


def test_a_translation_of_another_sentence_does_not_count() -> None:
    assert exact_match(["ta", "mi"], [{"mi"}, {"ta"}]) == 0.0


def test_near_misses_do_not_count() -> None:
    assert exact_match(["mi lo", "mi lo lo", "Mi lo", "mi"], [{"mi lo"}] * 4) == 1 / 4


def test_outputs_and_references_must_be_as_many() -> None:
    with pytest.raises(UserError, match="2 translations and references for 1"):
        exact_match(["mi", "lo"], [{"mi"}])


def test_no_output_has_no_score() -> None:
    with pytest.raises(UserError, match="nothing to compare"):
        exact_match([], [])
