"""Random masks: the target tokens that a model is trained to predict (section 2.2 of the paper)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from maskpredict.model.layout import Layout, Padded
from maskpredict.model.padding import round_up


def sample_masks(layout: Layout) -> Tensor:
    """Draw n ~ Uniform{1..N} for each sentence, then a uniform subset of n of its N tokens; True where masked."""
    lengths_B = torch.where(layout.valid_rows, layout.lengths_B, 0)
    count_B = (torch.rand(lengths_B.shape, device=lengths_B.device) * lengths_B).long() + 1
    return random_subset(layout, count_B)


def random_subset(layout: Layout, count_B: Tensor, certain: Tensor | None = None) -> Tensor:
    """Draw a uniform subset of `count_B` of each sentence's positions; True where drawn.

    The `certain` positions are drawn before all others.
    """
    lengths_B = torch.where(layout.valid_rows, layout.lengths_B, 0)
    rows, valid = layout.rows.flatten(), layout.valid.flatten()
    # Sorting by row + random number shuffles every sentence in place; float64 keeps the fraction exact enough.
    chance = torch.rand(rows.shape, device=rows.device, dtype=torch.float64)
    shuffle = rows + (chance if certain is None else chance.masked_fill(certain.flatten(), 0.0))
    order = shuffle.masked_fill(~valid, float("inf")).argsort()
    first_B = lengths_B.cumsum(0) - lengths_B
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device) - first_B[rows[order]]
    return ((rank < count_B[rows]) & valid).view(layout.valid.shape)


def masked_places(masked: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
    """Return flat indices of the masked tokens, and 1.0 for each that counts.

    A padded batch gives exactly the masked tokens. A packed one needs a fixed number, see `_budget`.
    """
    flat = masked.flatten()
    if isinstance(layout, Padded):
        index = flat.nonzero()[:, 0]
        return index, torch.ones(len(index), device=flat.device)
    return _first_masked(flat, _budget(len(flat), len(layout.lengths_B), layout.max_length))


def _budget(tokens: int, rows: int, longest: int) -> int:
    """Return a number of masked tokens that a packed batch practically never exceeds, whatever its sentences' lengths.

    Of N tokens, (N + 1) / 2 are masked on average, with a variance of (N^2 - 1) / 12. Over all sentences the variance
    is largest if all are the longest; three standard deviations of that are the margin.
    """
    margin = 3 * math.sqrt(tokens * longest / 12)
    return min(round_up((tokens + rows) // 2 + math.ceil(margin), 128), tokens)


def _first_masked(flat: Tensor, budget: int) -> tuple[Tensor, Tensor]:
    place = (flat.cumsum(0) - 1).masked_fill(~flat, budget).clamp(max=budget)
    index = torch.zeros(budget + 1, dtype=torch.long, device=flat.device)
    index.scatter_(0, place, torch.arange(len(flat), device=flat.device))
    counted = torch.arange(budget, device=flat.device) < flat.sum()
    return index[:budget], counted.float()
