"""Alignment of a translation's words with those of its source, by hiding the source's words one at a time.

A target word belongs to the source words without which the model finds it much less likely, given the rest of the
translation. A hidden word becomes the unknown word, which keeps its place: if the gap were closed, the words around it
would change their roles, too. The attention of these models says little: their encoders move what they know of a word
to other positions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.masked import WORDS_PER_MASK
from maskpredict.tokenizer import Tokenizer, Tokenizers

MAX_UNITS = 32
"""Source units that are hidden; in longer sentences a unit is several words, which bounds the work."""
_WITHOUT_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Characters of scripts that do not put spaces between words."""


@dataclass(frozen=True)
class WordAlignment:
    """Dependence of each subword of a translation on each unit of its source.

    Units and subwords are given by their numbers of characters, spaces not counted, since a tokenizer may have changed
    the spaces.
    """

    source: tuple[int, ...]
    """Sizes of the source's units: words, or several in a long sentence."""
    target: tuple[int, ...]
    """Sizes of the translation's subwords."""
    weights: tuple[tuple[float, ...], ...]
    """For each subword and unit, by how much its log-probability falls without that unit; at least 0."""


def align(
    decoder: Decoder, tokenizers: Tokenizers, source: Sequence[int], target: Sequence[int]
) -> WordAlignment | None:
    """Align a translation with its source, both in ids with an end mark; None if the system cannot."""
    *words, end = source
    units = _units(words, tokenizers.source)
    begins = np.cumsum([0, *map(len, units)])
    unknown = tokenizers.source.special.unk
    hidden = [
        [*words[:start], unknown, *words[start + len(unit) :], end] for start, unit in zip(begins, units, strict=False)
    ]
    target = target[: target.index(end_mark) + 1] if (end_mark := tokenizers.target.special.eos) in target else target
    sizes, is_start = _subwords(target, tokenizers.target)
    rows = decoder.cloze([source, *hidden], target, np.cumsum(is_start).tolist())
    if rows is None:
        return None
    log_probs = np.array(rows)
    drops = np.maximum(log_probs[0] - log_probs[1:], 0.0).T
    unit_sizes = tuple(sum(_subwords(unit, tokenizers.source)[0]) for unit in units)
    return WordAlignment(unit_sizes, tuple(sizes), tuple(tuple(row) for row in drops.tolist()))


def alignment_drafts(tokens: int) -> int:
    """Return how many drafts, at most, are decoded to align a source of this many subwords."""
    return WORDS_PER_MASK * (1 + min(tokens, MAX_UNITS))


def _units(ids: Sequence[int], tokenizer: Tokenizer) -> list[Sequence[int]]:
    """Cut a source into words, or into `MAX_UNITS` runs of words."""
    _, is_start = _subwords(ids, tokenizer)
    starts = [place for place, begins in enumerate(is_start) if begins]
    starts = starts[:: -(-len(starts) // MAX_UNITS)] if starts else []
    return [ids[start:end] for start, end in zip(starts, [*starts[1:], len(ids)], strict=True)]


def _subwords(ids: Sequence[int], tokenizer: Tokenizer) -> tuple[list[int], list[bool]]:
    """Return the size of each subword, and whether it begins a word."""
    sizes, is_start, before = [], [], ""
    for end in range(1, len(ids) + 1):
        text = tokenizer.decode(ids[:end])
        added = text[len(before) :]
        sizes.append(len("".join(added.split())))
        is_start.append(end == 1 or added[:1].isspace() or bool(_WITHOUT_SPACES.match(added)))
        before = text
    return sizes, is_start
