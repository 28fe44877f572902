"""Templates: what a person writes with ___ becomes subwords and gaps, and reads the same afterwards."""

from __future__ import annotations

import pytest

from maskpredict.decoding.hypothesis import Gap
from maskpredict.errors import UserError
from maskpredict.runtime.templates import parse_template
from maskpredict.tokenizer import Tokenizers


def filled(text: str, word: str, tokenizers: Tokenizers) -> str:
    """The template with the subwords of `word` in its gaps, as text."""
    tokenizer = tokenizers.target
    ids: list[int] = []
    for part in parse_template(text, tokenizer):
        ids += tokenizer.encode(word) if isinstance(part, Gap) else part
    return tokenizer.decode(ids)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("IRUL ___ ASIT.", "IRUL OMUL ASIT."),
        ("___ ASIT.", "OMUL ASIT."),
        ("IRUL ___", "IRUL OMUL"),
        ("IRUL ___.", "IRUL OMUL."),
        ("IRUL ___AB ASIT", "IRUL OMULAB ASIT"),
        ("___ IRUL ___", "OMUL IRUL OMUL"),
        ("___.", "OMUL."),
    ],
)
def test_a_filled_template_reads_as_it_was_written(template: str, text: str, toy_tokenizers: Tokenizers) -> None:
    assert filled(template, "OMUL", toy_tokenizers) == text


def test_gaps_may_say_their_size(toy_tokenizers: Tokenizers) -> None:
    parts = parse_template("IRUL ___{3} ___", toy_tokenizers.target)
    assert [part for part in parts if isinstance(part, Gap)] == [Gap(3), Gap(None)]


@pytest.mark.parametrize(("template", "sentence"), [("IRUL ASIT", "has no gap"), ("IRUL ___{0}", "zero subwords")])
def test_a_template_without_a_real_gap_is_refused(template: str, sentence: str, toy_tokenizers: Tokenizers) -> None:
    with pytest.raises(UserError, match=sentence):
        parse_template(template, toy_tokenizers.target)
