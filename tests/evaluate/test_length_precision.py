"""How often the right length is among the candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from maskpredict import Translator
from maskpredict.errors import UserError
from maskpredict.evaluate.length_precision import length_precision
from maskpredict.runtime.translation import EMPTY


def test_candidates_count_the_end_mark_and_references_do_not() -> None:
    translations = [replace(EMPTY, lengths=(5, 4)), replace(EMPTY, lengths=(3,))]
    assert length_precision(translations, [[7, 7, 7], [7, 7, 7]]) == 0.5
    assert length_precision(translations, [[7] * 4, [7] * 2]) == 1.0
    assert length_precision(translations, [[7] * 5, [7] * 3]) == 0.0


def test_a_sentence_without_candidates_is_missed() -> None:
    assert length_precision([replace(EMPTY, lengths=(2,)), EMPTY], [[7], [7]]) == 0.5


def test_more_candidates_find_more_lengths(
    cmlm_folder: Path, sentences: list[str], expected: Callable[[str], str]
) -> None:
    translator = Translator(cmlm_folder)
    references = [translator.tokenizers.target.encode(expected(sentence)) for sentence in sentences]
    shares = [
        length_precision(translator.translate(sentences, iterations=1, length_candidates=count), references)
        for count in (1, 40)
    ]
    assert 0.5 < shares[0] < shares[1] <= 1


def test_what_has_no_lengths_gets_a_sentence() -> None:
    with pytest.raises(UserError, match="no translation has length candidates"):
        length_precision([EMPTY], [[7]])
    with pytest.raises(UserError, match="1 translations and 2 references"):
        length_precision([EMPTY], [[7], [7]])
