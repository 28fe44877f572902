"""A pair of languages knows its opposite direction and which codes it can have."""

from __future__ import annotations

import pytest

from maskpredict.errors import UserError
from maskpredict.languages import Languages


def test_a_pair_is_shown_in_its_direction_and_can_be_reversed() -> None:
    languages = Languages("de", "en")
    assert str(languages) == "de to en"
    assert languages.reversed == Languages("en", "de")
    assert languages.reversed.reversed == languages


@pytest.mark.parametrize("code", ["zh-Hans", "sr_Latn", "de", "日本語"])
def test_codes_that_fit_into_file_names_are_fine(code: str) -> None:
    Languages(code, "en").check()
    Languages("en", code).check()


@pytest.mark.parametrize("code", ["", "../de", "de en", "de.txt"])
def test_other_codes_are_refused(code: str) -> None:
    for languages in (Languages(code, "en"), Languages("en", code)):
        with pytest.raises(UserError, match="is part of file names"):
            languages.check()


def test_a_language_is_not_translated_into_itself() -> None:
    with pytest.raises(UserError, match="Both languages are 'de'"):
        Languages("de", "de").check()
