"""Training pairs that have no alignment: their target has more words than their source has positions."""

from __future__ import annotations

import logging

import numpy as np

from maskpredict.corpus.dataset import ParallelIds
from maskpredict.errors import UserError

PAIRS_AT_ONCE = 100_000
"""Pairs whose ids are in memory at a time."""

logger = logging.getLogger(__name__)


def count_unalignable(split: ParallelIds, positions: int) -> int:
    """Return the number of pairs whose target does not fit `positions` positions for each source subword.

    End marks are counted on both sides. Equal neighbours need a blank between them, and so one position more.
    """
    room = positions * (split.source.lengths + 1)
    needed = split.target.lengths + 1
    for first in range(0, len(split), PAIRS_AT_ONCE):
        needed[first : first + PAIRS_AT_ONCE] += _equal_neighbours(split, first)
    return int((needed > room).sum())


def warn_of_unalignable(split: ParallelIds, positions: int) -> None:
    """Say how many pairs the loss leaves out, if any; all of them are refused."""
    count = count_unalignable(split, positions)
    if count == len(split):
        raise UserError(
            f"no training pair fits {positions} positions a source subword; use a larger model.ctc_positions."
        )
    if count:
        logger.warning(
            "%d of %d training pairs (%.1f%%) are left out of the loss: their target is too long for %d positions a "
            "source subword (model.ctc_positions).",
            *(count, len(split), 100 * count / len(split), positions),
        )


def _equal_neighbours(split: ParallelIds, first: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the number of target ids that equal the one before, of each pair from `first` on."""
    bounds = split.target.offsets[first : first + PAIRS_AT_ONCE + 1].astype(np.int64)
    ids = np.asarray(split.target.flat[bounds[0] : bounds[-1]])
    is_equal = np.zeros(len(ids) + 1, np.int64)
    is_equal[1:-1] = ids[1:] == ids[:-1]
    starts = bounds - bounds[0]
    is_equal[starts[:-1]] = 0  # the first of a sentence has no neighbour
    sums = np.concatenate([[0], np.cumsum(is_equal)])
    return np.asarray(sums[starts[1:]] - sums[starts[:-1]])
