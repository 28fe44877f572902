"""Filters of a teacher's translations, each with a count of what it dropped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property

from maskpredict.distill.by_text.config import FilterConfig, TextDistillConfig
from maskpredict.distill.teachers import ScoredText, TextTeacher

COPIED_LETTERS = 10
"""A translation with fewer letters may equal its source, such as a name."""
RECOGNIZABLE_LETTERS = 20
"""Text with fewer letters is too short for its language to be told."""


class Dropped(StrEnum):
    """Reason for dropping a source or a translation; it is counted once, under the first that applies."""

    EMPTY_SOURCE = "empty source"
    TOO_MANY_CHARACTERS = "too many characters"
    DUPLICATE = "duplicate"
    NOT_TRANSLATED = "not translated"
    """The source is too long for the teacher, or a command failed on it."""
    EMPTY = "empty translation"
    COPY = "copy of the source"
    RATIO = "length ratio"
    REPETITION = "repetition"
    LANGUAGE = "wrong language"
    SCORE = "low score"
    BACKWARD_SCORE = "low backward score"


class TranslationFilter:
    """All filters of translations."""

    def __init__(self, config: TextDistillConfig, reverse: TextTeacher | None) -> None:
        """`reverse` is the loaded model `filters.reverse`, if there is one."""
        self.limits, self.reverse = config.filters, reverse
        self.language = config.target_language
        # Two characters or more: a row of dots or digits says nothing about a translation.
        self._repeated = re.compile(rf"(.{{2,60}}?)\1{{{self.limits.max_repeats},}}")

    def keep(
        self, sources: Sequence[str], translations: Sequence[list[ScoredText]], dropped: Counter[Dropped]
    ) -> list[list[ScoredText]]:
        """The translations of each source that pass all filters; the others are counted in `dropped`."""
        kept: list[list[ScoredText]] = []
        for source, candidates in zip(sources, translations, strict=True):
            reasons = [self.reason(source, candidate) for candidate in candidates]
            dropped.update(reason for reason in reasons if reason)
            kept.append([text for text, reason in zip(candidates, reasons, strict=True) if reason is None])
        return kept if self.reverse is None else self._by_backward_score(sources, kept, dropped)

    def reason(self, source: str, translation: ScoredText) -> Dropped | None:
        """Reason for dropping a translation, besides the backward score; None if there is none."""
        limits, text = self.limits, translation.text
        if not text.strip():
            return Dropped.EMPTY
        if limits.drop_copies and _letters(text) >= COPIED_LETTERS and _words(text) == _words(source):
            return Dropped.COPY
        sizes = sorted((len(source.encode()), len(text.encode())))
        if sizes[1] >= limits.ratio_from and sizes[1] > limits.max_ratio * sizes[0]:
            return Dropped.RATIO
        if self._repeats(text) and not self._repeats(source):
            return Dropped.REPETITION
        if limits.wrong_language and not self._right_language(text):
            return Dropped.LANGUAGE
        if limits.min_score is not None and (translation.score or 0.0) < limits.min_score:
            return Dropped.SCORE
        return None

    def _by_backward_score(
        self, sources: Sequence[str], kept: list[list[ScoredText]], dropped: Counter[Dropped]
    ) -> list[list[ScoredText]]:
        limit = self.limits.min_backward_score
        assert self.reverse is not None
        assert limit is not None
        owners = [source for source, texts in zip(sources, kept, strict=True) for _ in texts]
        scores = iter(self.reverse.score([text.text for texts in kept for text in texts], owners))
        good = [[text for text in texts if next(scores) >= limit] for texts in kept]
        dropped[Dropped.BACKWARD_SCORE] += sum(map(len, kept)) - sum(map(len, good))
        return good

    def _repeats(self, text: str) -> bool:
        words, count = text.split(), self.limits.max_repeats
        # A repetition makes a word frequent, or repeats characters in it; the search is slow, so look at that first.
        if max(Counter(words).values(), default=0) > count or any(len(w) - len(set(w)) >= 2 * count for w in words):
            return self._repeated.search(text) is not None
        return False

    def _right_language(self, text: str) -> bool:
        if self._identifier is None or _letters(text) < RECOGNIZABLE_LETTERS:
            return True
        language, _ = self._identifier.classify(text)
        return bool(language == self.language)

    @cached_property
    def _identifier(self):  # type: ignore[no-untyped-def]  # py3langid has no types
        """The language identifier; None for a language that it does not know."""
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
        return identifier if self.language in identifier.labels else None


def source_reason(source: str, limits: FilterConfig) -> Dropped | None:
    """Reason for dropping a source before it is translated, besides duplication; None if there is none."""
    if not source.strip():
        return Dropped.EMPTY_SOURCE
    return Dropped.TOO_MANY_CHARACTERS if len(source) > limits.max_characters else None


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def _words(text: str) -> list[str]:
    return text.casefold().split()
