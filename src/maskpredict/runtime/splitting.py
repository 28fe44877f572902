"""Splitting of lines that are too long for the model.

A line is split at the ends of sentences. A sentence that is still too long is split at commas and similar punctuation,
then at spaces, and a "word" of hundreds of subwords between any two of them. Nothing is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from maskpredict.runtime.sentences import CLAUSE_END, SPACE, cut_line

Encode = Callable[[str], list[int]]


def pieces_of(text: str, language: str, encode: Encode, limit: int) -> list[list[int]]:
    """Return the ids of a text in the language of this code, in pieces of at most `limit`."""
    ids = encode(text)
    if len(ids) <= limit:
        return [ids] if ids else []
    sentences = [text[start:end].strip() for start, end in cut_line(text, language)]
    return [piece for sentence in sentences for piece in _clauses(sentence, encode, limit)]


def hard_cut(ids: list[int], limit: int) -> list[list[int]]:
    """Return the ids in pieces of exactly `limit`, except the last."""
    return [ids[start : start + limit] for start in range(0, len(ids), limit)]


def _clauses(sentence: str, encode: Encode, limit: int) -> list[list[int]]:
    for boundary in (CLAUSE_END, SPACE):
        ids = encode(sentence)
        if len(ids) <= limit:
            return [ids] if ids else []
        fragments = _cut(sentence, boundary)
        if all(len(encode(fragment)) <= limit for fragment in fragments):
            return [piece for text in _packed(fragments, encode, limit) for piece in hard_cut(encode(text), limit)]
    return [piece for word in fragments for piece in hard_cut(encode(word), limit)]


def _cut(text: str, boundary: re.Pattern[str]) -> list[str]:
    """Return the text between boundaries; a boundary's match stays with the text before it, without outer spaces."""
    fragments, start = [], 0
    for match in boundary.finditer(text):
        fragments.append(text[start : match.end()].strip())
        start = match.end()
    return [fragment for fragment in [*fragments, text[start:].strip()] if fragment]


def _packed(fragments: list[str], encode: Encode, limit: int) -> list[str]:
    """Return adjacent fragments joined up to the limit, because a model translates better with context."""
    packed: list[str] = []
    room = 0
    for fragment in fragments:
        size = len(encode(fragment))
        if size <= room:
            packed[-1] += f" {fragment}"
            room -= size
        else:
            packed.append(fragment)
            room = limit - size
    return packed
