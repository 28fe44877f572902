"""Places the tags of a sentence into its translation, around the words that translate those they were around.

Tags are a tree: what is inside another stays inside it, so the result is as well-formed as the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from maskpredict.documents.block import Item, Sentence, Tag, Text
from maskpredict.documents.tag_tree import Mark, tag_tree
from maskpredict.documents.word_match import WORD, Span, WordMatch
from maskpredict.runtime.word_alignment import WordAlignment

MAX_PLACED = 50
"""Tags in a sentence up to which each is placed by itself; markup with more is generated, or hostile."""


@dataclass(frozen=True)
class _Place:
    """A mark in the translation."""

    start: int
    end: int
    mark: Mark


def place_tags(sentence: Sentence, translation: str, alignment: WordAlignment | None) -> list[Item]:
    """Return a translation with each of the sentence's tags exactly once."""
    if translation == sentence.text:
        return list(sentence.items)
    if not sentence.has_tags:
        return [Text(translation)]
    if sum(isinstance(item, Tag) for item in sentence.items) > MAX_PLACED:
        return _in_order(sentence, translation)
    root = tag_tree(sentence)
    return list(_Projection(sentence.text, translation, alignment).items(root, 0, len(translation)))


def _in_order(sentence: Sentence, translation: str) -> list[Item]:
    """Return a translation with the tags in their order, as far on as they were, in linear time."""
    ends = [0, *(match.end() for match in WORD.finditer(translation))]
    items: list[Item] = []
    position = done = 0
    for item in sentence.items:
        position += len(item.text)
        if isinstance(item, Tag):
            place = translation.find(item.text, done) if item.text else -1
            end = place if place >= 0 else ends[position * (len(ends) - 1) // max(1, len(sentence.text))]
            items += [Text(translation[done:end]), item] if end > done else [item]
            done = max(done, end + (len(item.text) if place >= 0 else 0))
    return [*items, Text(translation[done:])]


class _Projection:
    """A sentence, its translation, and which words of one belong to which of the other."""

    def __init__(self, source: str, translation: str, alignment: WordAlignment | None) -> None:
        self.source, self.translation = source, translation
        self.match = WordMatch(source, translation, alignment)

    def items(self, mark: Mark, start: int, end: int) -> Iterator[Item]:
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

    def _places(self, parent: Mark, start: int, end: int) -> list[_Place]:
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

    def _best_span(self, mark: Mark, gaps: Sequence[Span]) -> Span:
        """Return the stretch of the translation, inside one gap, that depends most on a mark's words and no others."""
        exact = self._verbatim(mark, gaps)
        if exact is not None:
            return exact
        nowhere = gaps[0][0] if mark.begins_before else gaps[-1][1]
        best, best_score = (nowhere, nowhere), float("-inf")
        words_of_gaps = [(gap, self.match.words_in(gap)) for gap in gaps]
        has_words = any(self.match.is_word(words[0]) for _, words in words_of_gaps if words)
        for gap, words in words_of_gaps:
            if not words or (has_words and not self.match.is_word(words[0])):
                continue
            run, score = self.match.best_run(
                (mark.start, mark.end),
                (words[0], words[-1] + 1),
                fixed_start=mark.begins_before,
                fixed_end=mark.ends_after,
            )
            if score > best_score:
                span = self.match.words[run[0]][0], self.match.words[run[1] - 1][1]
                best, best_score = self._with_punctuation(mark, span, gap), score
        return best

    def _verbatim(self, mark: Mark, gaps: Sequence[Span]) -> Span | None:
        """Return where the text of a point stands unchanged."""
        if mark.point is None:
            return None
        places = [(self.translation.find(mark.point.text, *gap), gap) for gap in gaps]
        return next(((place, place + len(mark.point.text)) for place, _ in places if place >= 0), None)

    def _with_punctuation(self, mark: Mark, span: Span, gap: Span) -> Span:
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
        words = self.match.words_in((start, end))
        if not words:
            return end
        best = self.match.words[self.match.best_word(self._word_around(anchor), words)]
        if forward:
            return best[0]
        place = best[1]
        if (
            not self.source[position - 1].isalnum()
            and place < end
            and self.translation[place] == self.source[position - 1]
        ):
            place += 1
        return place

    def _word_around(self, position: int) -> Span:
        """Return the word of the source at a position, or the last one before it."""
        words = [match.span() for match in WORD.finditer(self.source) if self.source[match.start()].isalnum()]
        before = [word for word in words if word[0] <= position]
        return before[-1] if before else words[0] if words else (0, len(self.source))


def _urgency(mark: Mark) -> tuple[bool, bool, int]:
    return not (mark.begins_before or mark.ends_after), mark.is_point, mark.start - mark.end


def _gaps(places: Sequence[_Place], start: int, end: int) -> list[Span]:
    """Return what is free between the places."""
    taken = sorted((place.start, place.end) for place in places)
    starts, ends = [start, *(last for _, last in taken)], [*(first for first, _ in taken), end]
    return list(zip(starts, ends, strict=True))


def _is_punctuation(character: str) -> bool:
    return not character.isalnum() and not character.isspace()
