"""Sentences of a race: those that are timed, and those that are scored with BLEU."""

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
class Workload:
    """Sentences of a race."""

    name: str
    """Name of the test set."""
    target_language: str
    raced: list[str]
    """Timed sentences, the shortest first, so that a batch holds sentences of similar length."""
    mean_subwords: float
    """Mean source length of the timed sentences, without the end mark."""
    scored: list[str]
    references: list[list[str]]
    """`references[r][i]` is the r-th reference of the scored sentence i."""

    @property
    def summary(self) -> WorkloadSummary:
        """Description without the sentences themselves."""
        return WorkloadSummary(self.name, len(self.raced), round(self.mean_subwords, 1), len(self.scored))


@dataclass(frozen=True)
class WorkloadSummary:
    """Description of the sentences in the results."""

    name: str
    sentences: int
    mean_subwords: float
    scored: int


def built_in_sentences(languages: Languages) -> ReferenceSet:
    """Test set that comes with the package, for models between German and English."""
    if {languages.source, languages.target} != {"de", "en"}:
        raise UserError(
            f"the built-in sentences are German and English, and the model translates {languages.source} to "
            f"{languages.target}; give a data folder, or files of sources and references."
        )
    source, target = (
        [getattr(pair, language) for pair in SENTENCES] for language in (languages.source, languages.target)
    )
    name = "the built-in ones"
    return ReferenceSet(name, (Lines(name, target),), Lines(name, source), languages.target, languages)


def choose_sentences(test_set: ReferenceSet, tokenizer: Tokenizer, longest: int, config: BenchConfig) -> Workload:
    """Choose from the sentences of a test set that have between 1 and `longest` subwords."""
    if test_set.source is None:
        raise UserError(f"there is nothing to translate in {test_set.name}; give a file of sources, too.")
    texts = test_set.source.texts
    lengths = [len(tokenizer.encode(text)) for text in texts]
    usable = [index for index, length in enumerate(lengths) if 0 < length <= longest]
    if not usable:
        raise UserError(f"{test_set.name} has no sentence between 1 and {longest} subwords; give another test set.")
    raced = _timed_sentences(usable, lengths, config)
    scored = raced if config.bleu_sentences is None else _sample(usable, config.bleu_sentences, config.seed)
    return Workload(
        name=test_set.name,
        target_language=test_set.target_language,
        raced=[texts[index] for index in raced],
        mean_subwords=sum(lengths[index] for index in raced) / len(raced),
        scored=[texts[index] for index in scored],
        references=[[lines.texts[index] for index in scored] for lines in test_set.references],
    )


def _timed_sentences(usable: Sequence[int], lengths: Sequence[int], config: BenchConfig) -> list[int]:
    if config.subwords is None:
        chosen = _sample(usable, config.sentences, config.seed)
    else:
        wanted = config.subwords
        chosen = sorted(usable, key=lambda index: abs(lengths[index] - wanted))[: config.sentences]
    return sorted(chosen, key=lambda index: lengths[index])


def _sample(usable: Sequence[int], count: int, seed: int) -> list[int]:
    return random.Random(seed).sample(usable, min(count, len(usable)))
