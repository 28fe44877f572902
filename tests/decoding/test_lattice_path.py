"""The likeliest alignment of a target, against all alignments one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from maskpredict.decoding.lattice_path import best_words, target_chain

BLANK, VOCABULARY = 4, 9
Target = list[int]


def said(alignment: tuple[int, ...]) -> Target:
    """What the positions say, less repetitions and blanks."""
    return [token for place, token in enumerate(alignment) if token != BLANK and alignment[:place][-1:] != (token,)]


def log_probs(length: int, seed: int) -> npt.NDArray[np.float32]:
    logits_TV = 2 * np.random.default_rng(seed).standard_normal((length, VOCABULARY)).astype(np.float32)
    log_probs_TV: npt.NDArray[np.float32] = logits_TV - np.logaddexp.reduce(logits_TV, axis=1, keepdims=True)
    return log_probs_TV


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("length", "target"),
    [(5, [5, 6, 2]), (6, [5, 5, 2]), (3, [7, 8, 2]), (5, [6, 6, 6]), (1, [2]), (4, []), (1, [])],
    ids=str,
)
def test_the_best_alignment_is_the_likeliest_of_all(length: int, target: Target, seed: int) -> None:
    log_probs_TV = log_probs(length, seed)
    ways = [way for way in product({BLANK, *target}, repeat=length) if said(way) == target]
    best = max(ways, key=lambda way: sum(float(log_probs_TV[t, token]) for t, token in enumerate(way)))
    assert best_words(log_probs_TV, target_chain(target, BLANK)) == list(best)


@pytest.mark.parametrize(("length", "target"), [(4, [6, 6, 6]), (2, [5, 6, 2]), (1, [5, 2])], ids=str)
def test_a_target_with_too_few_positions_has_no_alignment(length: int, target: Target) -> None:
    # Equal neighbours need a blank between them, and so a position more.
    assert best_words(log_probs(length, 1), target_chain(target, BLANK)) is None
