"""Other words that could stand in a place of a translation."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from maskpredict.runtime.lines import Line
from maskpredict.runtime.translation import Translation
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

    def may_begin_with(self, token: str) -> bool:
        """Return False for a subword that is no beginning of a word here, or the word next to it again."""
        is_beginning = token.startswith(WORD_START) == self.tokens[self.start].startswith(WORD_START)
        return is_beginning and token not in (*self.tokens[self.start - 1 : self.start], self.tokens[self.end])


@dataclass(frozen=True)
class OtherWord:
    """A word that could stand in a place."""

    text: str
    probability: float
    translation: Translation
    """The whole translation with this word."""


async def other_words(service: TranslationService, model: ServedModel, source: str, place: Place) -> list[OtherWord]:
    """Return other words for a place of a translation, the likeliest first.

    A model tells its best filling of a gap, so a gap is filled several times, each time without the subwords that the
    fillings before began with.
    """
    of_sizes = await asyncio.gather(*(_fillings(service, model, source, place, size) for size in SIZES))
    known = _text(model, place.tokens[place.start : place.end])
    words: dict[str, OtherWord] = {}
    for size, translations in zip(SIZES, of_sizes, strict=True):
        inside = slice(place.start, place.start + size)
        for translation in translations:
            text = _text(model, translation.tokens[inside])
            word = OtherWord(text, math.exp(sum(translation.log_probs[inside])), translation)
            is_whole = _WORD.fullmatch(text) and place.may_begin_with(translation.tokens[place.start])
            if is_whole and text.casefold() != known.casefold() and (size == 1 or word.probability >= LIKELY):
                words.setdefault(text, word)
    return sorted(words.values(), key=lambda word: -word.probability)


async def _fillings(
    service: TranslationService, model: ServedModel, source: str, place: Place, size: int
) -> list[Translation]:
    """Return several translations with other words in a place, of a number of subwords."""
    line = Line(source, template=place.gap(size))
    avoided = [place.tokens[place.start]]
    translations = []
    for _ in range(ROUNDS):
        ids = model.translator.tokenizers.target.ids(avoided)
        suppressed = tuple(sorted({*model.suppressed, *ids}))
        settings = {"iterations": size, "suppress_tokens": suppressed, "trace": True}
        (translation,) = await service.translate([(model, line)], settings)
        translations.append(translation)
        avoided.append(translation.tokens[place.start])
    return translations


def _text(model: ServedModel, tokens: Sequence[str]) -> str:
    tokenizer = model.translator.tokenizers.target
    return tokenizer.decode(tokenizer.ids(tokens)).strip()
