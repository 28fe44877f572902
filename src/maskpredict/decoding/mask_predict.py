"""Mask-predict: the paper's decoding algorithm (section 3).

Start from a fully masked target. In each pass the model predicts every masked position at once; then the positions it
was least sure of are masked again and re-predicted in the light of the rest. The number of masked positions falls
linearly to zero over T passes.

This file is the algorithm and nothing else: `predict` hides the model, tensors may live on any device, and a pass
costs a handful of vectorised operations. Shape letters: B rows (one target draft each), T positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Predict = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""(tokens_BT with mask tokens in place, masked_BT) -> likeliest token and its float32 log-probability, both [B, T].
Only what it says of masked positions is read."""


@dataclass(frozen=True)
class Step:
    """What a strategy may look at when it chooses the positions to mask before pass `t` (t > 0)."""

    t: int
    passes_B: Tensor
    """T of each row."""
    log_probs_BT: Tensor
    """Confidence in each position, as of the last pass that predicted it."""
    masked_BT: Tensor
    """What the previous pass masked."""
    free_BT: Tensor
    """The positions that may be masked: real ones that are not pinned."""


Strategy = Callable[[Step], Tensor]
"""Chooses masked_BT for a pass."""


@dataclass(frozen=True)
class Decoded:
    """The target after the last pass."""

    tokens_BT: Tensor
    log_probs_BT: Tensor
    """Of each token when it was last predicted; 0 where it was pinned."""
    passes_B: Tensor
    """How many passes the row took part in."""


def mask_predict(
    predict: Predict,
    draft_BT: Tensor,
    free_BT: Tensor,
    passes_B: Tensor,
    mask: int,
    *,
    strategy: Strategy | None = None,
    hide: bool = True,
    stop_when_stable: bool = False,
    threshold: float | None = None,
    first_pass: Decoded | None = None,
    rounds: int | None = None,
    watch: Callable[[Tensor, Decoded], None] | None = None,
) -> Decoded:
    """Fill in the `free_BT` positions of `draft_BT` in `passes_B` passes.

    Without `hide`, the model sees the last words where it predicts, not masks. A row ends before its last pass when
    `stop_when_stable` is set and a pass changed none of its tokens, or when `threshold` is set and it is at least that
    sure of every token. With `first_pass`, what a call with `passes_B` of 1 found, it goes on from there. `rounds` is
    the highest of `passes_B` where that is known: then so many are made even if the last of them have nothing to do,
    since looking at a value would wait for a GPU. `watch(masked_BT, decoded)` is called after each pass.
    """
    choose = strategy or least_confident
    may_exit = rounds is None and (stop_when_stable or threshold is not None)
    tokens_BT, masked_BT = draft_BT, free_BT
    log_probs_BT = torch.zeros(draft_BT.shape, dtype=torch.float32, device=draft_BT.device)
    used_B = torch.zeros_like(passes_B)
    stable_B = torch.zeros_like(passes_B, dtype=torch.bool)
    if first_pass is not None:
        tokens_BT, log_probs_BT, used_B = first_pass.tokens_BT, first_pass.log_probs_BT, first_pass.passes_B
    for t in range(0 if first_pass is None else 1, rounds or int(passes_B.max())):
        if t > 0:
            masked_BT = choose(Step(t, passes_B, log_probs_BT, masked_BT, free_BT))
            masked_BT = masked_BT & ((t < passes_B) & ~stable_B)[:, None]
            if threshold is not None:
                masked_BT = masked_BT & (log_probs_BT < math.log(threshold))
            if may_exit and not masked_BT.any():
                break
        seen_BT = tokens_BT.masked_fill(masked_BT, mask) if hide else tokens_BT
        best_BT, best_log_probs_BT = predict(seen_BT, masked_BT)
        before_BT = tokens_BT
        tokens_BT = torch.where(masked_BT, best_BT, tokens_BT)
        log_probs_BT = torch.where(masked_BT, best_log_probs_BT, log_probs_BT)
        used_B = used_B + masked_BT.any(1).to(used_B.dtype)
        if stop_when_stable:
            stable_B = (tokens_BT == before_BT).all(1)
        if watch is not None:
            watch(masked_BT, Decoded(tokens_BT, log_probs_BT, used_B))
    return Decoded(tokens_BT, log_probs_BT, used_B)


def least_confident(step: Step) -> Tensor:
    """The n = max(1, floor(N (T - t) / T)) positions with the lowest probability; the leftmost of equals."""
    size_B = step.free_BT.sum(1)
    count_B = (size_B * (step.passes_B - step.t) // step.passes_B).clamp(min=1)
    confidence_BT = step.log_probs_BT.masked_fill(~step.free_BT, math.inf)
    order_BT = confidence_BT.sort(dim=1, stable=True).indices
    rank_BT = torch.empty_like(order_BT)
    rank_BT.scatter_(1, order_BT, torch.arange(order_BT.shape[1], device=order_BT.device).expand_as(order_BT))
    return (rank_BT < count_B[:, None]) & step.free_BT
