"""Other words that could stand in a place of a translation."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from maskpredict.runtime.lines import Line
from maskpredict.serve.queue.models import ServedModel
from maskpredict.serve.queue.service import TranslationService
from maskpredict.tokenizer import WORD_START

ROUNDS, SIZES = 5, (1, 2)
"""Words are looked for of each of these numbers of subwords, as many times."""
LIKELY = 0.05
"""Probability of two subwords together from which on they are a word; below, they often do not go together."""
_WORD = re.compile(r"\w[\w'’-]+")


@dataclass(frozen=True)
class Place:
    """A stretch of a translation."""

    tokens: Sequence[str]
    """All subwords of the translation, the end mark included."""
    start: int
    end: int

    def gap(self, size: int) -> tuple[str | None, ...]:
        """Return the translation with a gap of a number of subwords in this place."""
        return (*self.tokens[: self.start], *[None] * size, *self.tokens[self.end :])

    def may_have(self, filling: _Filling) -> bool:
        """Return False for what is no word here: half of one, or the word next to it again."""
        first = filling.tokens[0]
        if first.startswith(WORD_START) != self.tokens[self.start].startswith(WORD_START):
            return False
        if first in (*self.tokens[self.start - 1 : self.start], self.tokens[self.end]):
            return False
        return len(filling.tokens) == 1 or filling.probability >= LIKELY


@dataclass(frozen=True)
class _Filling:
    tokens: list[str]
    probability: float


@dataclass(frozen=True)
class OtherWord:
    """A word that could stand in a place."""

    text: str
    probability: float


async def other_words(service: TranslationService, model: ServedModel, source: str, place: Place) -> list[OtherWord]:
    """Return other words for a place of a translation, the likeliest first.

    A model tells its best filling of a gap, so a gap is filled several times, each time without the subwords that the
    fillings before began with.
    """
    of_sizes = await asyncio.gather(*(_fillings(service, model, source, place, size) for size in SIZES))
    words: dict[str, float] = {}
    for filling in (filling for fillings in of_sizes for filling in fillings):
        text = _text(model, filling.tokens)
        if _WORD.fullmatch(text) and place.may_have(filling):
            words.setdefault(text, filling.probability)
    known = _text(model, place.tokens[place.start : place.end]).casefold()
    found = [OtherWord(text, probability) for text, probability in words.items() if text.casefold() != known]
    return sorted(found, key=lambda word: -word.probability)


async def _fillings(
    service: TranslationService, model: ServedModel, source: str, place: Place, size: int
) -> list[_Filling]:
    """Return several fillings of a gap of some subwords."""
    line = Line(source, template=place.gap(size))
    avoided = [place.tokens[place.start]]
    fillings = []
    for _ in range(ROUNDS):
        ids = model.translator.tokenizers.target.ids(avoided)
        settings = {"iterations": size, "suppress_tokens": tuple(sorted({*model.suppressed, *ids}))}
        (translation,) = await service.translate([(model, line)], settings)
        inside = slice(place.start, place.start + size)
        fillings.append(_Filling(translation.tokens[inside], math.exp(sum(translation.log_probs[inside]))))
        avoided.append(translation.tokens[place.start])
    return fillings


def _text(model: ServedModel, tokens: Sequence[str]) -> str:
    tokenizer = model.translator.tokenizers.target
    return tokenizer.decode(tokenizer.ids(tokens)).strip()
