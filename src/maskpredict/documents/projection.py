"""Places the tags of a sentence into its translation, around the words that translate those they were around.

Tags are a tree: what is inside another stays inside it, so the result is as well-formed as the source. Shape letters:
W words of the translation, U units of the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from maskpredict.documents.block import Item, Sentence, Tag, TagKind, Text
from maskpredict.runtime.word_alignment import WordAlignment

Weights = npt.NDArray[np.float64]

MAX_PLACED = 50
"""Tags in a sentence up to which each is placed by itself; markup with more is generated, or hostile."""
_WORD = re.compile(r"\w+(?:['’.-]\w+)*|[^\w\s]")
_CLIP = 4.0
"""Nats from which on one word depends on another as much as any does."""
_WEAK = 0.5
"""Nats below which a dependence may be chance."""
_SMALL, _UNSURE = 3, 1.5
"""Letters and nats up to which a word at the edge of a tag may be an article or the like."""
_SURE = 3.0
"""Nats from which on it is not."""


@dataclass
class _Mark:
    """A pair of tags or a point, over a stretch of the source."""

    start: int
    end: int
    open: Tag | None = None
    close: Tag | None = None
    point: Tag | None = None
    inner: list[_Mark] = field(default_factory=list)
    begins_before: bool = False
    """Opened in an earlier sentence."""
    ends_after: bool = False
    """Closed in a later sentence."""

    @property
    def is_point(self) -> bool:
        """True if it is around no text of this sentence."""
        return self.start == self.end and not (self.begins_before or self.ends_after)


@dataclass(frozen=True)
class _Place:
    """A mark in the translation."""

    start: int
    end: int
    mark: _Mark


def place_tags(sentence: Sentence, translation: str, alignment: WordAlignment | None) -> list[Item]:
    """Return a translation with each of the sentence's tags exactly once."""
    if translation == sentence.text:
        return list(sentence.items)
    if not sentence.has_tags:
        return [Text(translation)]
    if sum(isinstance(item, Tag) for item in sentence.items) > MAX_PLACED:
        return _in_order(sentence, translation)
    root = _tree(sentence)
    return list(_Projection(sentence.text, translation, alignment).items(root, 0, len(translation)))


def _in_order(sentence: Sentence, translation: str) -> list[Item]:
    """Return a translation with the tags in their order, as far on as they were, in linear time."""
    ends = [0, *(match.end() for match in _WORD.finditer(translation))]
    items: list[Item] = []
    position = done = 0
    for item in sentence.items:
        position += len(item.text)
        if isinstance(item, Tag):
            found = translation.find(item.text, done) if item.text else -1
            end = found if found >= 0 else ends[position * (len(ends) - 1) // max(1, len(sentence.text))]
            items += [Text(translation[done:end]), item] if end > done else [item]
            done = max(done, end + (len(item.text) if found >= 0 else 0))
    return [*items, Text(translation[done:])]


def _tree(sentence: Sentence) -> _Mark:
    """Return the marks of a sentence, inside a mark over all of it."""
    size = len(sentence.text)
    opened = {item.pair for item in sentence.items if isinstance(item, Tag) and item.kind is TagKind.OPEN}
    closes = [item for item in sentence.items if isinstance(item, Tag) and item.kind is TagKind.CLOSE]
    root = _Mark(0, size)
    stack = [root]
    for _ in (close for close in closes if close.pair not in opened):
        stack[-1].inner.append(_Mark(0, size, begins_before=True))
        stack.append(stack[-1].inner[-1])
    position = 0
    for item in sentence.items:
        if isinstance(item, Tag) and item.kind is TagKind.OPEN:
            stack[-1].inner.append(_Mark(position, size, open=item, ends_after=True))
            stack.append(stack[-1].inner[-1])
        elif isinstance(item, Tag) and item.kind is TagKind.CLOSE:
            stack[-1].close, stack[-1].end, stack[-1].ends_after = item, position, False
            stack.pop()
        elif isinstance(item, Tag):
            stack[-1].inner.append(_Mark(position, position + len(item.text), point=item))
        position += len(item.text)
    return root


class _Projection:
    """A sentence, its translation, and how much the words of one depend on those of the other."""

    def __init__(self, source: str, translation: str, alignment: WordAlignment | None) -> None:
        self.source, self.translation = source, translation
        self.words = [match.span() for match in _WORD.finditer(translation)]
        self.is_word = [translation[start].isalnum() for start, _ in self.words]
        if alignment is None or not alignment.source or not alignment.target:
            self.units = [match.span() for match in _WORD.finditer(source)]
            self.weights_WU = _by_position(len(self.words), len(self.units))
        else:
            self.units = _spans(alignment.source, source)
            subwords = _spans(alignment.target, translation)
            overlap_WT = np.array([[float(_overlap(word, part) > 0) for part in subwords] for word in self.words])
            weights_TU = np.array(alignment.weights, dtype=np.float64)
            self.weights_WU = (overlap_WT[:, :, None] * weights_TU[None]).max(axis=1, initial=0.0)

    def items(self, mark: _Mark, start: int, end: int) -> Iterator[Item]:
        """Yield the translation from `start` to `end` with what is inside a mark."""
        position = start
        for place in self._places(mark, start, end):
            inner = place.mark
            if position < place.start:
                yield Text(self.translation[position : place.start])
            if inner.point is not None:
                yield inner.point
            else:
                yield from filter(None, [inner.open])
                yield from self.items(inner, place.start, place.end)
                yield from filter(None, [inner.close])
            position = place.end
        if position < end:
            yield Text(self.translation[position:end])

    def _places(self, parent: _Mark, start: int, end: int) -> list[_Place]:
        """Return where the marks directly inside another go, in order and without overlaps."""
        places: list[_Place] = []
        # Those that reach an edge come first. Points take no room, so they come last; wide marks have most evidence.
        for mark in sorted(parent.inner, key=_urgency):
            if mark.is_point:
                position = self._point(mark.start, start, end)
                inside = next((p for p in places if p.start < position < p.end), None)
                position = inside.end if inside else position
                places.append(_Place(position, position, mark))
            else:
                gaps = _gaps(places, start, end)
                gaps = gaps[:1] if mark.begins_before else gaps[-1:] if mark.ends_after else gaps
                places.append(_Place(*self._best_span(mark, gaps), mark))
        order = {id(mark): number for number, mark in enumerate(parent.inner)}
        return sorted(places, key=lambda place: (place.start, place.end, order[id(place.mark)]))

    def _best_span(self, mark: _Mark, gaps: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """Return the stretch of the translation, inside one gap, that depends most on a mark's words and no others."""
        exact = self._verbatim(mark, gaps)
        if exact is not None:
            return exact
        scores_W = self._scores(mark)
        nowhere = gaps[0][0] if mark.begins_before else gaps[-1][1]
        best, best_score = (nowhere, nowhere), -np.inf
        for start, end in gaps:
            chosen = [number for number, word in enumerate(self.words) if start <= word[0] and word[1] <= end]
            chosen = [number for number in chosen if self.is_word[number]] or chosen
            if not chosen:
                continue
            first, last = chosen[0], chosen[-1] + 1
            found, score = _best_run(scores_W[first:last], fixed_start=mark.begins_before, fixed_end=mark.ends_after)
            if score > best_score:
                best_score = score
                run = self._with_small_words(mark, scores_W, (first + found[0], first + found[1]), (first, last))
                best = self.words[run[0]][0], self.words[run[1] - 1][1]
                best = self._with_punctuation(mark, best, (start, end))
        return best

    def _verbatim(self, mark: _Mark, gaps: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
        """Return where the text of a point stands unchanged."""
        if mark.point is None:
            return None
        places = [(self.translation.find(mark.point.text, *gap), gap) for gap in gaps]
        return next(((place, place + len(mark.point.text)) for place, _ in places if place >= 0), None)

    def _scores(self, mark: _Mark) -> Weights:
        """Return how much better each word of the translation fits inside the mark than outside."""
        member_U = np.array([_share(self.source, unit, (mark.start, mark.end)) for unit in self.units])
        weights_WU = np.minimum(self.weights_WU, _CLIP)
        inside_W = (weights_WU * member_U).max(axis=1, initial=0.0)
        outside_W = (weights_WU * (1 - member_U)).max(axis=1, initial=0.0)
        scores_W = inside_W - outside_W
        scores_W[np.maximum(inside_W, outside_W) < _WEAK] = -0.1
        scores_W[~np.array(self.is_word, dtype=bool)] = -0.01
        return scores_W

    def _with_small_words(
        self, mark: _Mark, scores_W: Weights, run: tuple[int, int], limits: tuple[int, int]
    ) -> tuple[int, int]:
        """Return a run of words with as many small words at its edges, such as articles, as the mark has.

        The model may be as unsure about them without their noun as without themselves.
        """
        member_U = np.array([_share(self.source, unit, (mark.start, mark.end)) >= 0.5 for unit in self.units])
        strongest_U = self.weights_WU.argmax(axis=0)
        is_claim_U = self.weights_WU.max(axis=0) >= _WEAK
        inside = set(strongest_U[member_U & is_claim_U].tolist())
        sure = inside | set(np.flatnonzero(scores_W >= _SURE).tolist())
        outside = set(strongest_U[~member_U & is_claim_U].tolist()) - sure
        small = {number for number, word in enumerate(self.words) if self._is_small(number, word)} - sure
        start, end = run
        while end - start > 1 and (start in outside or start in small):
            start += 1
        while end - start > 1 and (end - 1 in outside or end - 1 in small):
            end -= 1
        core = set(range(start, end))
        units = [u for u in np.flatnonzero(member_U).tolist() if self.source[slice(*self.units[u])].strip()]
        accounted = [bool(is_claim_U[u]) and int(strongest_U[u]) in core for u in units]
        before = accounted.index(True) if True in accounted else 0
        after = accounted[::-1].index(True) if True in accounted else 0
        while before > 0 and start > limits[0] and start - 1 not in outside and start - 1 in small | inside:
            start, before = start - 1, before - 1
        while after > 0 and end < limits[1] and end not in outside and end in small | inside:
            end, after = end + 1, after - 1
        return (limits[0] if mark.begins_before else start), (limits[1] if mark.ends_after else end)

    def _is_small(self, number: int, word: tuple[int, int]) -> bool:
        return word[1] - word[0] <= _SMALL or self.weights_WU[number].max(initial=0.0) < _UNSURE

    def _with_punctuation(self, mark: _Mark, span: tuple[int, int], gap: tuple[int, int]) -> tuple[int, int]:
        """Take in punctuation next to a stretch if the mark has some at that edge, too."""
        start, end = span
        text = self.source[mark.start : mark.end]
        while text[:1] and not text[0].isalnum() and start > gap[0] and _is_punctuation(self.translation[start - 1]):
            text, start = text[1:], start - 1
        while text[-1:] and not text[-1].isalnum() and end < gap[1] and _is_punctuation(self.translation[end]):
            text, end = text[:-1], end + 1
        return (gap[0] if mark.begins_before else start), (gap[1] if mark.ends_after else end)

    def _point(self, position: int, start: int, end: int) -> int:
        """Return where something between two words of the source goes: behind what translates the first of them.

        If only the second is next to it, it goes in front of what translates that.
        """
        before, after = self.source[:position].rstrip(), self.source[position:].lstrip()
        forward = not before or (len(before) < position and after == self.source[position:])
        anchor = len(self.source) - len(after) if forward else len(before) - 1
        words = [number for number, word in enumerate(self.words) if start <= word[0] and word[1] <= end]
        words = [number for number in words if self.is_word[number]]
        if not words:
            return end
        neighbour = self._word_around(anchor)
        scores_W = self._scores(_Mark(*neighbour))
        best = max(words, key=lambda number: scores_W[number])
        if forward:
            return self.words[best][0]
        place = self.words[best][1]
        if (
            not self.source[position - 1].isalnum()
            and place < end
            and self.translation[place] == self.source[position - 1]
        ):
            place += 1
        return place

    def _word_around(self, position: int) -> tuple[int, int]:
        """Return the word of the source at a position, or the last one before it."""
        words = [match.span() for match in _WORD.finditer(self.source) if self.source[match.start()].isalnum()]
        before = [word for word in words if word[0] <= position]
        return before[-1] if before else words[0] if words else (0, len(self.source))


def _urgency(mark: _Mark) -> tuple[bool, bool, int]:
    return not (mark.begins_before or mark.ends_after), mark.is_point, mark.start - mark.end


def _best_run(scores: Weights, *, fixed_start: bool, fixed_end: bool) -> tuple[tuple[int, int], float]:
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


def _gaps(places: Sequence[_Place], start: int, end: int) -> list[tuple[int, int]]:
    """Return what is free between the places."""
    taken = sorted((place.start, place.end) for place in places)
    starts, ends = [start, *(last for _, last in taken)], [*(first for first, _ in taken), end]
    return list(zip(starts, ends, strict=True))


def _spans(sizes: Sequence[int], text: str) -> list[tuple[int, int]]:
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


def _overlap(a: tuple[int, int], b: tuple[int, int]) -> int:
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def _share(text: str, unit: tuple[int, int], span: tuple[int, int]) -> float:
    """Return which share of a unit's letters and digits is in a span."""
    letters = [place for place in range(*unit) if text[place].isalnum()] or list(range(*unit))
    return sum(span[0] <= place < span[1] for place in letters) / len(letters) if letters else 0.0


def _is_punctuation(character: str) -> bool:
    return not character.isalnum() and not character.isspace()
