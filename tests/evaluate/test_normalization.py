"""Romanian in one spelling."""

from __future__ import annotations

import pytest

from maskpredict.errors import UserError
from maskpredict.evaluate.normalization import normalize


def test_cedillas_become_commas() -> None:
    assert normalize(["Ştiu că ţara Ţării şi ș ț"], "ro") == ["Știu că țara Țării și ș ț"]


def test_marks_of_their_own_count_too() -> None:
    assert normalize(["s\u0327i t\u0326ara"], "ro") == ["și țara"]


def test_diacritics_can_go_altogether() -> None:
    assert normalize(["Ştiu că în ţară â Â Ă Î"], "ro-no-diacritics") == ["Stiu ca in tara a A A I"]


def test_other_languages_keep_their_marks() -> None:
    assert normalize(["Zoë's façade, größer"], "ro-no-diacritics") == ["Zoë's façade, größer"]


def test_without_a_name_nothing_changes() -> None:
    assert normalize(["ş"], "") == ["ş"]


def test_an_unknown_name_gets_a_sentence() -> None:
    with pytest.raises(UserError, match="no normalization 'rum'; choose ro or ro-no-diacritics"):
        normalize([], "rum")
