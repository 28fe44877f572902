"""Templates, targets with gaps: `The ___ sat on ___{2}.`

`___` is a gap of any number of subwords, `___{3}` of exactly three.
"""

from __future__ import annotations

import re

from maskpredict.decoding.hypothesis import Gap
from maskpredict.errors import UserError
from maskpredict.tokenizer import WORD_START, Tokenizer

Template = tuple[tuple[int, ...] | Gap, ...]

_GAP = re.compile(r"___(?:\{(\d+)\})?")


def parse_template(text: str, tokenizer: Tokenizer) -> Template:
    """Return the subwords and gaps of a template.

    Text directly after a gap continues the gap's last word; after a space, it begins a new word.
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
    """Return the ids of the same text without SentencePiece's mark at the start."""
    first = tokenizer.pieces(ids[:1])[0]
    if not first.startswith(WORD_START):
        return ids
    suffix = first.removeprefix(WORD_START)
    if not suffix:
        return ids[1:]
    suffix_ids = tokenizer.ids([suffix])
    return [*(tokenizer.ids(list(suffix)) if suffix_ids == [tokenizer.special.unk] else suffix_ids), *ids[1:]]
