"""Capitals: a line in ALL CAPS or Title Case is translated in usual spelling and comes back as it was."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum

from maskpredict.tokenizer import Tokenizer

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_MIN_TITLE_WORDS, _MIN_CAPITALS = 3, 4


class Letters(Enum):
    """Capitals of a text."""

    USUAL = "usual"
    CAPITALS = "capitals"
    TITLE = "title"

    def applied(self, text: str) -> str:
        """Return a text in these letters."""
        if self is Letters.CAPITALS:
            return text.upper()
        if self is Letters.TITLE:
            return _WORD.sub(lambda match: match[0][0].upper() + match[0][1:], text)
        return text


def letters_of(text: str, usual: Callable[[str], str]) -> Letters:
    """Return how a text is capitalized; `usual` gives the usual spelling of a word."""
    if text.isupper():
        # A word that is known in capitals, such as NATO, is no shouting.
        shouted = [word for word in _WORD.findall(text) if usual(word) != word]
        return Letters.CAPITALS if sum(map(len, shouted)) >= _MIN_CAPITALS else Letters.USUAL
    if text.endswith((".", "!", "?")):  # a sentence, in which Sie and nouns may leave no word without a capital
        return Letters.USUAL
    words = []
    for match in _WORD.finditer(text):
        if not match[0][0].isupper():
            return Letters.USUAL
        words.append(match[0])
    lowered = sum(usual(word).islower() for word in words[1:])
    return Letters.TITLE if len(words) >= _MIN_TITLE_WORDS and 2 * lowered >= len(words) else Letters.USUAL


class UsualSpelling:
    """The spelling of a word that a vocabulary knows best: in lower case, with a capital, or in capitals."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def __call__(self, word: str) -> str:
        """Return the spelling with the fewest subwords, the most frequent ones if equal."""
        spellings = dict.fromkeys([word.lower(), word.lower().capitalize(), word.upper()])
        return min(spellings, key=self._rarity)

    def words(self, text: str) -> str:
        """Return a text with all its words spelled so."""
        return _WORD.sub(lambda match: self(match[0]), text)

    def _rarity(self, word: str) -> tuple[int, int]:
        ids = self._tokenizer.encode(word)
        return len(ids), max(ids, default=0)  # subwords are numbered from the most frequent
