"""Targets with gaps as a person writes them: `The ___ sat on ___{2}.`

`___` stands for as many subwords as fit best, `___{3}` for exactly three.
"""

from __future__ import annotations

import re

from maskpredict.decoding.hypothesis import Gap
from maskpredict.errors import UserError
from maskpredict.tokenizer import Tokenizer

Template = tuple[tuple[int, ...] | Gap, ...]

_GAP = re.compile(r"___(?:\{(\d+)\})?")
_WORD_START = "▁"


def parse_template(text: str, tokenizer: Tokenizer) -> Template:
    """The subwords and gaps of a template.

    A word directly behind a gap continues what the gap ends with; with a space between, it begins a word.
    """
    parts: list[tuple[int, ...] | Gap] = []
    end = 0
    for match in _GAP.finditer(text):
        parts += _words(text[end : match.start()], tokenizer, after_gap=end > 0)
        parts.append(_gap(match[1]))
        end = match.end()
    if not any(isinstance(part, Gap) for part in parts):
        raise UserError(f"the template {text!r} has no gap; write ___ where words are missing.")
    return (*parts, *_words(text[end:], tokenizer, after_gap=True))


def _gap(size: str | None) -> Gap:
    if size is not None and int(size) == 0:
        raise UserError("a gap of zero subwords, ___{0}, is no gap; leave it out.")
    return Gap(int(size) if size is not None else None)


def _words(text: str, tokenizer: Tokenizer, *, after_gap: bool) -> list[tuple[int, ...]]:
    ids = tokenizer.encode(text)
    if ids and after_gap and not text[0].isspace():
        ids = _continued(ids, tokenizer)
    return [tuple(ids)] if ids else []


def _continued(ids: list[int], tokenizer: Tokenizer) -> list[int]:
    """The same text without the mark that SentencePiece puts at the start of every text it is given."""
    first = tokenizer.pieces(ids[:1])[0]
    if not first.startswith(_WORD_START):
        return ids
    rest = first.removeprefix(_WORD_START)
    if not rest:
        return ids[1:]
    whole = tokenizer.ids([rest])
    return [*(tokenizer.ids(list(rest)) if whole == [tokenizer.special.unk] else whole), *ids[1:]]
