"""A small invented language pair that shows on a CPU, in minutes, what the paper shows on WMT.

The source language puts the verb last and the adjective before its noun. The target language puts the verb between
subject and object and the adjective after its noun, and lets adjectives and verbs agree with a noun that may be far:

    source     tiba runek mola sepi        (small dogs house see)
    plain      gardoi penoi voroi lasa ho  (dogs small see house, and a particle)

Every sentence has three translations of one length, and the human translator of the corpus picks one at random:

    plain      40 %   subject verb object ... particle
    fronted    30 %   particle subject verb object ...
    literary   30 %   particle object verb subject ..., with other adjectives and another conjunction

Each is right as a whole and no mixture is. The likeliest word at a position is often no word of the likeliest sentence:
the particle is likeliest in front (60 %), although the likeliest sentence ends with it. So a model that picks all words
at once fails, and says some words twice; one that sees part of its own words can follow them; and a teacher that
searches for the likeliest whole sentence mostly says the plain one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from maskpredict.errors import UserError

SOURCE_LANGUAGE, TARGET_LANGUAGE = "src", "tgt"
"""Language codes, which are also the endings of the corpus files."""

# Source word -> target stem, and the gender that the noun and all that agrees with it shows in its ending.
_NOUNS = {
    "rune": ("gard", "o"),
    "mola": ("las", "a"),
    "teki": ("brim", "o"),
    "sanu": ("fel", "a"),
    "poda": ("kurt", "o"),
    "wemi": ("nul", "a"),
    "hilu": ("stor", "a"),
    "gasa": ("vimp", "o"),
}
# Source word -> everyday and literary target stem.
_ADJECTIVES = {"tiba": ("pen", "skir"), "ulo": ("grav", "mest"), "fesi": ("lind", "orv"), "dako": ("zur", "halm")}
_VERBS = {"sepi": "vor", "kamu": "hest", "niro": "plam", "bezu": "dulk", "galo": "frin"}
_AND, _AND_TARGET = "ye", ("en", "voch")
_PARTICLE = "ho"
_PLURAL, _PLURAL_TARGET = "k", "i"
_MOST_CLAUSES = 3


@dataclass(frozen=True)
class _Style:
    """One way to translate a whole sentence."""

    share: float
    """Share of the sentences of the corpus."""
    particle_first: bool
    literary: bool
    """Object before verb and subject, and the second of every two synonyms."""


_STYLES = (_Style(0.4, False, False), _Style(0.3, True, False), _Style(0.3, True, True))


@dataclass(frozen=True)
class _Phrase:
    """A noun with an optional adjective."""

    noun: str
    plural: bool
    adjective: str | None

    @property
    def ending(self) -> str:
        """Ending of the target words that agree with this noun."""
        return _NOUNS[self.noun][1] + (_PLURAL_TARGET if self.plural else "")

    def source(self) -> list[str]:
        noun = self.noun + (_PLURAL if self.plural else "")
        return [self.adjective, noun] if self.adjective else [noun]

    def target(self, style: _Style) -> list[str]:
        stems = [_NOUNS[self.noun][0]]
        if self.adjective:
            stems.append(_ADJECTIVES[self.adjective][style.literary])
        return [stem + self.ending for stem in stems]


@dataclass(frozen=True)
class _Clause:
    """A subject, a verb and an optional object."""

    subject: _Phrase
    verb: str
    object: _Phrase | None

    def source(self) -> list[str]:
        return [*self.subject.source(), *(self.object.source() if self.object else []), self.verb]

    def target(self, style: _Style) -> list[str]:
        subject, verb = self.subject.target(style), [_VERBS[self.verb] + self.subject.ending]
        object_ = self.object.target(style) if self.object else []
        return [*object_, *verb, *subject] if style.literary else [*subject, *verb, *object_]


def write_toy_corpus(folder: Path, train_pairs: int, valid_pairs: int, test_pairs: int, seed: int) -> None:
    """Write `train`, `valid` and `test`, each as `.src` and `.tgt`, into `folder`; no sentence occurs twice."""
    rng = random.Random(seed)
    sentences = _different_sentences(rng)
    shares = [style.share for style in _STYLES]
    folder.mkdir(parents=True, exist_ok=True)
    for split, pairs in (("train", train_pairs), ("valid", valid_pairs), ("test", test_pairs)):
        chosen = list(islice(sentences, pairs))
        styles = rng.choices(_STYLES, shares, k=pairs)
        targets = [_target(clauses, style) for clauses, style in zip(chosen, styles, strict=True)]
        _write_lines(folder / f"{split}.{SOURCE_LANGUAGE}", [_source(clauses) for clauses in chosen])
        _write_lines(folder / f"{split}.{TARGET_LANGUAGE}", targets)


def translations(source_sentence: str) -> frozenset[str]:
    """All valid translations of a sentence of the source language."""
    clauses = _parse(source_sentence)
    return frozenset(_target(clauses, style) for style in _STYLES)


def _different_sentences(rng: random.Random) -> Iterator[list[_Clause]]:
    seen: set[str] = set()
    while True:
        clauses = [_draw_clause(rng) for _ in range(rng.randint(1, _MOST_CLAUSES))]
        if (text := _source(clauses)) not in seen:
            seen.add(text)
            yield clauses


def _draw_clause(rng: random.Random) -> _Clause:
    # Two different nouns: "the dog sees the dog" would be the same sentence in two styles.
    subject, object_ = (_draw_phrase(noun, rng) for noun in rng.sample(list(_NOUNS), 2))
    return _Clause(subject, rng.choice(list(_VERBS)), object_ if rng.random() < 0.8 else None)


def _draw_phrase(noun: str, rng: random.Random) -> _Phrase:
    adjective = rng.choice(list(_ADJECTIVES)) if rng.random() < 0.5 else None
    return _Phrase(noun, rng.random() < 0.5, adjective)


def _source(clauses: list[_Clause]) -> str:
    return f" {_AND} ".join(" ".join(clause.source()) for clause in clauses)


def _target(clauses: list[_Clause], style: _Style) -> str:
    text = f" {_AND_TARGET[style.literary]} ".join(" ".join(clause.target(style)) for clause in clauses)
    return f"{_PARTICLE} {text}" if style.particle_first else f"{text} {_PARTICLE}"


def _parse(sentence: str) -> list[_Clause]:
    return [_parse_clause(words.split(), sentence) for words in f" {sentence} ".split(f" {_AND} ")]


def _parse_clause(words: list[str], sentence: str) -> _Clause:
    phrases: list[_Phrase] = []
    adjective: str | None = None
    for word in words[:-1]:
        noun = word.removesuffix(_PLURAL)
        if noun in _NOUNS:
            phrases.append(_Phrase(noun, plural=noun != word, adjective=adjective))
            adjective = None
        elif word in _ADJECTIVES and adjective is None:
            adjective = word
        else:
            raise UserError(f"{word!r} in {sentence!r} is not a word of the toy language, or not in its place.")
    if adjective or not 1 <= len(phrases) <= 2 or words[-1] not in _VERBS:
        raise UserError(f"{sentence!r} is not a sentence of the toy language; take one from its corpus.")
    return _Clause(phrases[0], words[-1], phrases[1] if len(phrases) == 2 else None)


def _write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
