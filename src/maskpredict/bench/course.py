"""What is translated in a race, and what the translations are scored on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from maskpredict.bench.config import BenchConfig
from maskpredict.bench.sentences import SENTENCES
from maskpredict.errors import UserError
from maskpredict.evaluate.reference_set import Lines, ReferenceSet
from maskpredict.languages import Languages
from maskpredict.tokenizer import Tokenizer


@dataclass(frozen=True)
class Course:
    """The sentences of a race."""

    name: str
    """Of the test set."""
    target_language: str
    raced: list[str]
    """Shortest first, so that a batch holds sentences of similar length, as it does in any engine's own batching."""
    mean_subwords: float
    """Of the raced sentences, the end mark not counted."""
    scored: list[str]
    references: list[list[str]]
    """`references[r][i]` is the r-th reference of the scored sentence i."""

    @property
    def facts(self) -> CourseFacts:
        """The course without its sentences."""
        return CourseFacts(self.name, len(self.raced), round(self.mean_subwords, 1), len(self.scored))


@dataclass(frozen=True)
class CourseFacts:
    """What a report says about the sentences."""

    name: str
    sentences: int
    mean_subwords: float
    scored: int


def built_in(languages: Languages) -> ReferenceSet:
    """The sentences that come with the package, for models between German and English."""
    if {languages.source, languages.target} != {"de", "en"}:
        raise UserError(
            f"the built-in sentences are German and English, and the model translates {languages.source} to "
            f"{languages.target}; give a data folder, or files of sources and references."
        )
    source, target = ([getattr(pair, own) for pair in SENTENCES] for own in (languages.source, languages.target))
    name = "the built-in ones"
    return ReferenceSet(name, (Lines(name, target),), Lines(name, source), languages.target, languages)


def choose(test_set: ReferenceSet, tokenizer: Tokenizer, longest: int, config: BenchConfig) -> Course:
    """Sentences of a test set that have words, and at most `longest` subwords."""
    if test_set.source is None:
        raise UserError(f"there is nothing to translate in {test_set.name}; give a file of sources, too.")
    texts = test_set.source.texts
    lengths = [len(tokenizer.encode(text)) for text in texts]
    usable = [index for index, length in enumerate(lengths) if 0 < length <= longest]
    if not usable:
        raise UserError(f"{test_set.name} has no sentence between 1 and {longest} subwords; give another test set.")
    raced = _raced(usable, lengths, config)
    scored = raced if config.bleu_sentences is None else _drawn(usable, config.bleu_sentences, config.seed)
    return Course(
        name=test_set.name,
        target_language=test_set.target_language,
        raced=[texts[index] for index in raced],
        mean_subwords=sum(lengths[index] for index in raced) / len(raced),
        scored=[texts[index] for index in scored],
        references=[[lines.texts[index] for index in scored] for lines in test_set.references],
    )


def _raced(usable: Sequence[int], lengths: Sequence[int], config: BenchConfig) -> list[int]:
    if config.subwords is None:
        chosen = _drawn(usable, config.sentences, config.seed)
    else:
        wanted = config.subwords
        chosen = sorted(usable, key=lambda index: abs(lengths[index] - wanted))[: config.sentences]
    return sorted(chosen, key=lambda index: lengths[index])


def _drawn(usable: Sequence[int], count: int, seed: int) -> list[int]:
    return random.Random(seed).sample(usable, min(count, len(usable)))
