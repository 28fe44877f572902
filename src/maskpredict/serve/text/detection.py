"""A small language detector for the served languages, based on common words and letter trigrams.

German and English have profiles made from lists of common words; one word is often enough to tell them apart. If
another language is served too, the detector compares the models' tokenizers instead: the tokenizer of the right
language cuts a text into fewer, longer subwords. If the languages share one vocabulary, all of them are equally likely.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from maskpredict.serve.text.common_words import COMMON_WORDS
from maskpredict.tokenizer import Tokenizer

MAX_CHARACTERS = 2_000
"""The detector reads only this many characters of a text."""
_WORD_BONUS = 1.5
"""Added to the log-likelihood of a word that is in the list."""
_OTHER_LANGUAGE = math.log(1 / 2_500)
"""Log-probability of a trigram in a language that is not served."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


@dataclass(frozen=True)
class Detection:
    """A language, and how likely a text is in it."""

    language: str
    confidence: int
    """From 0 to 100."""


class LanguageDetector:
    """Ranks the served languages by how likely a text is in each."""

    def __init__(self, codes: Sequence[str], tokenizers: Mapping[str, Tokenizer]) -> None:
        """`tokenizers` are by language code; they are used unless every language has a word list."""
        self._codes, self._tokenizers = codes, tokenizers
        self._profiles = {code: LanguageProfile(COMMON_WORDS[code].split()) for code in codes if code in COMMON_WORDS}

    def detect(self, text: str) -> list[Detection]:
        """Return all languages with their confidences, the likeliest first; all are 0 for a text without words."""
        words = [word.lower().replace("’", "'") for word in _WORD.findall(text[:MAX_CHARACTERS])]
        if not words:
            shares = dict.fromkeys(self._codes, 0.0)
        elif len(self._profiles) == len(self._codes):
            shares = self._by_profile(words)
        else:
            shares = self._by_vocabulary(" ".join(words))
        ordered = sorted(self._codes, key=lambda code: -shares[code])
        return [Detection(code, round(100 * shares[code])) for code in ordered]

    def _by_profile(self, words: Sequence[str]) -> dict[str, float]:
        scores = {code: profile.score(words) for code, profile in self._profiles.items()}
        other = sum(_OTHER_LANGUAGE * len(_trigrams(word)) for word in words) / 3
        top = max(*scores.values(), other)
        total = math.exp(other - top) + sum(math.exp(score - top) for score in scores.values())
        return {code: math.exp(score - top) / total for code, score in scores.items()}

    def _by_vocabulary(self, text: str) -> dict[str, float]:
        fits = {code: len(text) / max(1, len(self._tokenizers[code].encode(text))) for code in self._codes}
        weights = {code: math.exp(4 * (fit - max(fits.values()))) for code, fit in fits.items()}
        return {code: weight / sum(weights.values()) for code, weight in weights.items()}


class LanguageProfile:
    """Common words and letter trigrams of a language."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = frozenset(words)
        self._trigrams = Counter(trigram for word in sorted(self._words) for trigram in _trigrams(word))
        self._total = self._trigrams.total()

    def score(self, words: Sequence[str]) -> float:
        """Approximate the log-likelihood of the words; trigrams overlap, so each counts a third."""
        return sum(self._score(word) for word in words)

    def _score(self, word: str) -> float:
        size = self._total + 0.5 * len(self._trigrams)
        by_letters = sum(math.log((self._trigrams[trigram] + 0.1) / size) for trigram in _trigrams(word)) / 3
        return by_letters + (_WORD_BONUS if word in self._words else 0.0)


def _trigrams(word: str) -> list[str]:
    padded = f" {word} "
    return [padded[start : start + 3] for start in range(len(padded) - 2)]
