"""Counts of each sentence, from which BLEU and repetitions of any resample of a test set follow without its text.

Shapes: S sentences, K columns of counts, R resamples.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from maskpredict.evaluate.metrics.bleu import build_bleu
from maskpredict.evaluate.scores import RESAMPLES

Counts = npt.NDArray[np.int32]
"""[S, K]"""
Floats = npt.NDArray[np.float64]
SEED = 12_345
ORDER = 4
"""Longest n-grams of BLEU."""


class Column(IntEnum):
    """Columns of the counts; words are those of BLEU, tokens the model's subwords without the end mark."""

    reference_words = 0
    words = 1
    matches = 2
    """Words that the reference has, too; the next three columns count 2-grams, 3-grams and 4-grams."""
    tokens = 6
    repeated = 7
    """Tokens that equal their left neighbour."""


COLUMNS = 8


def count_sentences(
    hypotheses: Sequence[str],
    references: Sequence[str],
    tokens: Sequence[Sequence[str]],
    *,
    target_language: str = "",
) -> Counts:
    """Return the counts of each sentence [S, K]; `tokens` are the hypotheses as subwords, without end marks."""
    statistics = build_bleu(target_language)._extract_corpus_statistics(list(hypotheses), [list(references)])
    counts = np.zeros((len(hypotheses), COLUMNS), np.int32)
    for row, (words, reference_words, *ngrams) in enumerate(statistics):
        counts[row, Column.reference_words], counts[row, Column.words] = reference_words, words
        counts[row, Column.matches : Column.matches + ORDER] = ngrams[:ORDER]
        counts[row, Column.tokens] = len(tokens[row])
        counts[row, Column.repeated] = sum(left == right for left, right in pairwise(tokens[row]))
    return counts


def draws(sentences: int, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """Return how often each resample draws each sentence [R, S]; the same for all systems, so that they are paired."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(sentences, size=(resamples, sentences))
    return np.stack([np.bincount(row, minlength=sentences) for row in drawn]).astype(np.float64)


def bleu(counts: Counts, drawn: Floats) -> Floats:
    """Return sacreBLEU's BLEU of each resample [R], smoothed as it does by default."""
    lengths = counts[:, Column.words].astype(np.float64)
    words, reference_words = drawn @ lengths, drawn @ counts[:, Column.reference_words]
    log_precision, halvings = np.zeros(len(drawn)), np.zeros(len(drawn))
    possible = words > 0
    for order in range(ORDER):
        matches = drawn @ counts[:, Column.matches + order]
        total = drawn @ np.maximum(lengths - order, 0)
        possible &= total > 0
        halvings += matches == 0
        smoothed = np.where(matches > 0, matches, 0.5**halvings)
        log_precision += np.log(smoothed / np.maximum(total, 1)) / ORDER
    possible &= drawn @ counts[:, Column.matches] > 0
    brevity = np.minimum(0.0, 1 - reference_words / np.maximum(words, 1))
    return np.where(possible, 100 * np.exp(brevity + log_precision), 0.0)


def repeated(counts: Counts, drawn: Floats) -> Floats:
    """Return the share of repeated tokens of each resample [R], 0 to 1."""
    return (drawn @ counts[:, Column.repeated]) / np.maximum(drawn @ counts[:, Column.tokens], 1)
