"""Matches words of a translation with parts of its source, by an alignment.

Shape letters: W words of the translation, U units of the source, T subwords of the translation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence, Set
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from maskpredict.runtime.word_alignment import WordAlignment

Weights = npt.NDArray[np.float64]
Span = tuple[int, int]
"""Start and end in a text, or of some words."""

WORD = re.compile(r"\w+(?:['’.-]\w+)*|[^\w\s]")
_CLIP = 4.0
"""Nats from which on one word depends on another as much as any does."""
_WEAK = 0.5
"""Nats below which a dependence may be chance."""
_SMALL, _UNSURE = 3, 1.5
"""Letters and nats up to which a word at an edge may be an article or the like."""
_SURE = 3.0
"""Nats from which on it is not."""


class WordMatch:
    """The words of a translation, and how much each depends on each unit of the source."""

    def __init__(self, source: str, translation: str, alignment: WordAlignment | None) -> None:
        """Without an alignment, only the order of the words counts."""
        self._source = source
        self.words = [match.span() for match in WORD.finditer(translation)]
        self._is_word = np.array([translation[start].isalnum() for start, _ in self.words], dtype=bool)
        if alignment is None or not alignment.source or not alignment.target:
            self._units = [match.span() for match in WORD.finditer(source)]
            self._weights_WU = _by_position(len(self.words), len(self._units))
        else:
            self._units = _spans(alignment.source, source)
            subwords = _spans(alignment.target, translation)
            shape = len(self.words), len(subwords), len(self._units)
            overlaps = [[float(_overlap(word, subword) > 0) for subword in subwords] for word in self.words]
            overlap_WT = np.array(overlaps, dtype=np.float64).reshape(shape[:2])
            weights_TU = np.array(alignment.weights, dtype=np.float64).reshape(shape[1:])
            self._weights_WU = (overlap_WT[:, :, None] * weights_TU[None]).max(axis=1, initial=0.0)

    def words_in(self, span: Span) -> list[int]:
        """Return the numbers of the words in a part of the translation, without punctuation where there are others."""
        numbers = [number for number, word in enumerate(self.words) if span[0] <= word[0] and word[1] <= span[1]]
        return [number for number in numbers if self._is_word[number]] or numbers

    def is_word(self, number: int) -> bool:
        """Return False for punctuation."""
        return bool(self._is_word[number])

    def best_run(self, part: Span, limits: Span, *, fixed_start: bool, fixed_end: bool) -> tuple[Span, float]:
        """Return the run of words within limits that depends most on a part of the source, and how well it fits."""
        scores_W = self._scores(part)
        best, score = _best_run(scores_W[slice(*limits)], fixed_start=fixed_start, fixed_end=fixed_end)
        run = limits[0] + best[0], limits[0] + best[1]
        start, end = self._with_small_words(part, scores_W, run, limits)
        return (limits[0] if fixed_start else start, limits[1] if fixed_end else end), score

    def best_word(self, part: Span, numbers: Sequence[int]) -> int:
        """Return which of some words depends most on a part of the source."""
        scores_W = self._scores(part)
        return max(numbers, key=lambda number: float(scores_W[number]))

    def _scores(self, part: Span) -> Weights:
        """Return how much better each word of the translation fits to a part of the source than to the rest."""
        member_U = np.array([_share(self._source, unit, part) for unit in self._units])
        weights_WU = np.minimum(self._weights_WU, _CLIP)
        inside_W = (weights_WU * member_U).max(axis=1, initial=0.0)
        outside_W = (weights_WU * (1 - member_U)).max(axis=1, initial=0.0)
        scores_W = inside_W - outside_W
        scores_W[np.maximum(inside_W, outside_W) < _WEAK] = -0.1
        scores_W[~self._is_word] = -0.01
        return scores_W

    def _with_small_words(self, part: Span, scores_W: Weights, run: Span, limits: Span) -> Span:
        """Return a run of words with as many small words at its edges, such as articles, as the part of the source has.

        The model may be as unsure about them without their noun as without themselves.
        """
        member_U = np.array([_share(self._source, unit, part) >= 0.5 for unit in self._units])
        word_of_U = self._weights_WU.argmax(axis=0)
        is_sure_U = self._weights_WU.max(axis=0) >= _WEAK
        inside = set(word_of_U[member_U & is_sure_U].tolist())
        sure = inside | set(np.flatnonzero(scores_W >= _SURE).tolist())
        outside = set(word_of_U[~member_U & is_sure_U].tolist()) - sure
        small = {number for number, word in enumerate(self.words) if self._is_small(number, word)} - sure
        start, end = _trimmed(run, outside | small)
        units = [unit for unit in np.flatnonzero(member_U).tolist() if self._source[slice(*self._units[unit])].strip()]
        is_in_run = [bool(is_sure_U[unit]) and start <= int(word_of_U[unit]) < end for unit in units]
        may_join = (small | inside) - outside
        before, after = _leading_false(is_in_run), _leading_false(is_in_run[::-1])
        while before > 0 and start > limits[0] and start - 1 in may_join:
            start, before = start - 1, before - 1
        while after > 0 and end < limits[1] and end in may_join:
            end, after = end + 1, after - 1
        return self._to_edges(member_U, (start, end), limits, outside)

    def _to_edges(self, member_U: Weights, run: Span, limits: Span, outside: Set[int]) -> Span:
        """Return a run with what is left of the sentence in front of it or behind it, if the source has nothing there.

        Words that belong to others are not left over.
        """
        start, end = run
        words = np.flatnonzero(self._is_word).tolist() or [-1]
        if limits[0] == words[0] and member_U[:1].any() and outside.isdisjoint(range(limits[0], start)):
            start = limits[0]
        if limits[1] == words[-1] + 1 and member_U[-1:].any() and outside.isdisjoint(range(end, limits[1])):
            end = limits[1]
        return start, end

    def _is_small(self, number: int, word: Span) -> bool:
        return word[1] - word[0] <= _SMALL or self._weights_WU[number].max(initial=0.0) < _UNSURE


def _trimmed(run: Span, dispensable: Collection[int]) -> Span:
    """Return a run of numbers without those at its edges that are dispensable, but at least one."""
    start, end = run
    while end - start > 1 and start in dispensable:
        start += 1
    while end - start > 1 and end - 1 in dispensable:
        end -= 1
    return start, end


def _leading_false(values: Sequence[bool]) -> int:
    """Return how many values come before the first that is true; 0 if there is none."""
    return values.index(True) if True in values else 0


def _best_run(scores: Weights, *, fixed_start: bool, fixed_end: bool) -> tuple[Span, float]:
    """Return the run of at least one score with the highest sum, and the sum (Kadane's algorithm)."""
    best, best_sum = (0, len(scores)), -np.inf
    start, total = 0, 0.0
    for place, score in enumerate(scores.tolist()):
        if total < 0 and not fixed_start:
            start, total = place, 0.0
        total += score
        if total > best_sum and (not fixed_end or place == len(scores) - 1):
            best, best_sum = (start, place + 1), total
    return best, float(best_sum)


def _spans(sizes: Sequence[int], text: str) -> list[Span]:
    """Return where units of these sizes are in a text, spaces not counted.

    A text that a tokenizer or later steps made longer or shorter is stretched.
    """
    places = [place for place, character in enumerate(text) if not character.isspace()]
    if not places:
        return [(0, 0)] * len(sizes)
    edges = np.cumsum([0, *sizes]) * (len(places) / max(1, sum(sizes)))
    numbers = np.clip(np.rint(edges).astype(int), 0, len(places)).tolist()
    spans = []
    for first, last in pairwise(numbers):
        start = places[min(first, len(places) - 1)]
        spans.append((start, places[last - 1] + 1 if last > first else start))
    return spans


def _by_position(words: int, units: int) -> Weights:
    """Return weights for when nothing is known but the order of the words."""
    distance_WU = np.abs((np.arange(words) + 0.5)[:, None] / max(1, words) - (np.arange(units) + 0.5) / max(1, units))
    return _CLIP * np.exp(-distance_WU * max(words, units) / 2)


def _overlap(a: Span, b: Span) -> int:
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def _share(text: str, unit: Span, span: Span) -> float:
    """Return which share of a unit's letters and digits is in a span."""
    letters = [place for place in range(*unit) if text[place].isalnum()] or list(range(*unit))
    return sum(span[0] <= place < span[1] for place in letters) / len(letters) if letters else 0.0
