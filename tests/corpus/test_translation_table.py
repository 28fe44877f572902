"""Translation probabilities are those of IBM model 1."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from maskpredict.corpus.dataset import ParallelIds
from maskpredict.corpus.ids import IdsFile, IdsWriter
from maskpredict.corpus.translation_table import FLOOR, MAX_LENGTH, ROUNDS, translation_table
from maskpredict.errors import UserError
from maskpredict.progress import Progress

Sentence = Sequence[int]
VOCABULARY = (12, 14)


def parallel(folder: Path, pairs: Sequence[tuple[Sentence, Sentence]]) -> ParallelIds:
    for name, sentences in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        with IdsWriter(folder / name, max(VOCABULARY)) as writer:
            for sentence in sentences:
                writer.append(sentence)
    return ParallelIds(IdsFile(folder / "source"), IdsFile(folder / "target"), [], None)


def table_of(folder: Path, pairs: Sequence[tuple[Sentence, Sentence]]) -> np.ndarray:
    with Progress(quiet=True) as progress:
        return translation_table(parallel(folder, pairs), *VOCABULARY, progress)


def by_hand(pairs: Sequence[tuple[Sentence, Sentence]]) -> dict[tuple[int, int], float]:
    """IBM model 1 as the textbook has it, a round over all pairs at a time."""
    probability = dict.fromkeys(product(range(VOCABULARY[0]), range(VOCABULARY[1])), 1 / VOCABULARY[1])
    for _ in range(ROUNDS):
        counts = dict.fromkeys(probability, 0.0)
        for source, target in pairs:
            for word in target:
                total = sum(probability[s, word] for s in source)
                for s in source:
                    counts[s, word] += probability[s, word] / total
        for s in {s for source, _ in pairs for s in source}:
            total = sum(counts[s, word] for word in range(VOCABULARY[1]))
            for word in range(VOCABULARY[1]):
                probability[s, word] = max(counts[s, word] / total, FLOOR)
    return probability


def test_the_table_is_that_of_the_textbook(tmp_path: Path) -> None:
    pairs = [((5, 6), (9, 8)), ((5, 7), (8, 10, 8)), ((6,), (9,)), ((11, 5, 6, 7, 11), (12, 13, 9))]
    # Rounds take 1/8, 1/4, 1/2 and all of the pairs in random order: the same text, if there is but one.
    for pair in pairs:
        folder = tmp_path / str(pair[0])
        folder.mkdir()
        expected = by_hand([pair])
        table = table_of(folder, [pair] * 16)
        for cell, probability in expected.items():
            assert table[cell] == pytest.approx(probability, abs=1e-6), (pair, cell)


def test_every_word_finds_its_translation_among_many(tmp_path: Path) -> None:
    chance = np.random.default_rng(3)
    sources = [chance.permutation(np.arange(1, 12))[: chance.integers(1, 7)] for _ in range(400)]
    pairs = [(source.tolist(), chance.permutation(source + 2).tolist()) for source in sources]
    table = table_of(tmp_path, pairs)
    assert table[1:12].argmax(axis=1).tolist() == list(range(3, 14))
    assert table[1:12].max(axis=1).min() > 0.9
    np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-4)
    assert np.ptp(table[0]) == 0, "nothing is known of a word that never occurs"


def test_long_and_empty_sides_are_left_out(tmp_path: Path) -> None:
    usable: list[tuple[Sentence, Sentence]] = [((5,), (9,))] * 8
    others: list[tuple[Sentence, Sentence]] = [((5,), ()), ((), (8,)), ((5,) * (MAX_LENGTH + 1), (8,))]
    assert table_of(tmp_path, usable + others)[5, 9] == pytest.approx(1)
    with pytest.raises(UserError, match=r"no pair of .* has 1 to 60 subwords on both sides"):
        table_of(tmp_path, others)


def test_a_table_that_does_not_fit_in_memory_is_refused(tmp_path: Path) -> None:
    pairs = parallel(tmp_path, [((5,), (9,))])
    with pytest.raises(UserError, match="of 100,000 times 100,000 subwords does not fit in memory"):
        translation_table(pairs, 100_000, 100_000, Progress(quiet=True))
