"""Which target lengths to try (section 3.3 of the paper)."""

from __future__ import annotations

from torch import Tensor

SHORTEST = 2
"""A token and the end mark."""


def candidate_lengths(log_probs_BL: Tensor, count: int, longest: int) -> list[list[int]]:
    """The `count` likeliest lengths of each sentence, likeliest first.

    Lengths outside [2, longest] are moved to its ends and duplicates dropped, so there may be fewer than `count`.
    """
    # A stable sort, so that equally likely lengths come in one order on every machine.
    order_BL = log_probs_BL.sort(dim=1, descending=True, stable=True).indices[:, :count]
    moved = order_BL.clamp(SHORTEST, longest).tolist()
    return [list(dict.fromkeys(row)) for row in moved]
