"""Glossaries, and how their terms are found in a text.

Terms are found by words, not by letters, the longest first. Inflected words are found by their stems (Snowball). A term
in lower case is found in any case, one with a capital only with one, and one in capitals only so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from maskpredict.errors import UserError

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_SNOWBALL = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "eu": "basque", "fi": "finnish", "fr": "french", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "ga": "irish", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch",
    "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip


@dataclass(frozen=True)
class Term:
    """An entry of a glossary."""

    source: str
    target: str
    soft: bool = False
    """The model may inflect the target: it is forced only where the translation does not have the word in some form."""


@dataclass(frozen=True)
class Match:
    """A term at its place in a text."""

    term: Term
    start: int
    end: int


class Glossary:
    """Terms for translations from one language into another."""

    def __init__(self, terms: Iterable[Term], source_language: str, target_language: str) -> None:
        """Check the terms, which may come without outer white space only."""
        self.terms = tuple(terms)
        self.source_language, self.target_language = source_language, target_language
        self._by_first: dict[str, list[tuple[list[str], Term]]] = {}
        seen: dict[tuple[str, ...], Term] = {}
        for term in self.terms:
            stems = self._stems(term.source, source_language)
            if not stems or not term.target.strip():
                raise UserError(
                    f"the term {term.source!r} or its translation {term.target!r} is empty; delete the entry."
                )
            other = seen.setdefault((*_words(term.source), _capitals(term.source)), term)
            if other.target != term.target:
                raise UserError(
                    f"the glossary translates {other.source!r} by {other.target!r} and {term.source!r} by "
                    f"{term.target!r}; keep one of them."
                )
            self._by_first.setdefault(stems[0], []).append((stems, term))
        for entries in self._by_first.values():  # the strictest first, such as IT before it
            entries.sort(key=lambda entry: -_CAPITALS.index(_capitals(entry[1].source)))

    def find(self, text: str) -> list[Match]:
        """Return the terms in a text, in order and without overlap."""
        words = list(_WORD.finditer(text))
        stems = [self._stem(word[0], self.source_language) for word in words]
        matches, place = [], 0
        while place < len(words):
            term = self._term_at(place, words, stems)
            if term is None:
                place += 1
                continue
            count = len(self._stems(term.source, self.source_language))
            matches.append(Match(term, words[place].start(), words[place + count - 1].end()))
            place += count
        return matches

    def is_in(self, term: Term, translation: str) -> bool:
        """Return True if a translation has the target of a term in some form."""
        wanted = self._stems(term.target, self.target_language)
        stems = self._stems(translation, self.target_language)
        return any(stems[start : start + len(wanted)] == wanted for start in range(len(stems) - len(wanted) + 1))

    def _term_at(self, place: int, words: Sequence[re.Match[str]], stems: Sequence[str]) -> Term | None:
        """Return the longest term that begins with a word; of equally long ones, the one that is spelled so."""
        fitting: list[tuple[int, bool, Term]] = []
        for wanted, term in self._by_first.get(stems[place], []):
            in_text = [word[0] for word in words[place : place + len(wanted)]]
            if (
                list(stems[place : place + len(wanted)]) == wanted
                and _fits(_capitals(term.source), in_text[0])
                and _are_inflected(_WORD.findall(term.source), in_text)
            ):
                fitting.append((len(wanted), _words(term.source) == _words(" ".join(in_text)), term))
        return max(fitting, key=lambda one: one[:2])[2] if fitting else None

    def _stems(self, text: str, language: str) -> list[str]:
        return [self._stem(word, language) for word in _WORD.findall(text)]

    def _stem(self, word: str, language: str) -> str:
        return self._stemmers[language](word.lower())

    @cached_property
    def _stemmers(self) -> dict[str, Callable[[str], str]]:
        return {language: _stemmer(language) for language in (self.source_language, self.target_language)}


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


_LONGEST_ENDING = 3
_CAPITALS = ("lower", "title", "upper")


def _capitals(term: str) -> str:
    word = _WORD.search(term)
    if word is None or not word[0][0].isupper():
        return "lower"
    return "upper" if len(word[0]) > 1 and word[0].isupper() else "title"


def _fits(capitals: str, word: str) -> bool:
    return capitals == "lower" or (word.isupper() if capitals == "upper" else word[0].isupper())


def _are_inflected(words: Sequence[str], others: Sequence[str]) -> bool:
    """Return False for words of the same stem that are derived rather than inflected: Bericht, Berichtigung."""
    return all(abs(len(one) - len(other)) <= _LONGEST_ENDING for one, other in zip(words, others, strict=True))


def _stemmer(language: str) -> Callable[[str], str]:
    """Return a function from words to stems; without rules for a language, a word is its own stem."""
    if language not in _SNOWBALL:
        return str
    import snowballstemmer

    stem: Callable[[str], str] = snowballstemmer.stemmer(_SNOWBALL[language]).stemWord
    return stem
