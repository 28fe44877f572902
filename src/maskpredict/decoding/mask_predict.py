"""Mask-predict: the paper's decoding algorithm (section 3).

Start from a fully masked target. In each pass the model predicts every masked position at once; then the least
confident positions are masked again and predicted given the others. The number of masked positions falls linearly to
zero over T passes.

This file has the algorithm alone; `predict` hides the model. Arrays may be NumPy's or PyTorch's, on any device. Shape
letters: B rows (one target draft each), T positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from maskpredict.decoding.arrays import Array, array_namespace, device

Predict = Callable[[Array, Array], tuple[Array, Array]]
"""(tokens_BT with mask tokens in place, masked_BT) -> likeliest token and its float32 log-probability, both [B, T].
Only the masked positions of the result are read."""


@dataclass(frozen=True)
class Step:
    """Input of a strategy, which chooses the positions to mask before pass `t` (t > 0)."""

    t: int
    passes_B: Array
    """T of each row."""
    log_probs_BT: Array
    """Confidence in each position, as of the last pass that predicted it."""
    masked_BT: Array
    """True where the previous pass masked."""
    free_BT: Array
    """True where masking is allowed: not in padding or pinned."""
    tokens_BT: Array
    """Tokens as of the last pass."""
    blank: int | None = None
    """Id of the blank, if the targets are alignments."""
    seed: int = 1
    """Seed of random choices."""


Strategy = Callable[[Step], Array]
"""Chooses masked_BT for a pass."""


def least_confident(step: Step) -> Array:
    """Mask the n = max(1, floor(N (T - t) / T)) positions with the lowest probability; the leftmost of equals."""
    xp = array_namespace(step.free_BT)
    size_B = xp.sum(xp.astype(step.free_BT, step.passes_B.dtype), axis=1)
    count_B = size_B * (step.passes_B - step.t) // step.passes_B
    count_B = xp.where(count_B < 1, 1, count_B)
    confidence_BT = xp.where(step.free_BT, step.log_probs_BT, math.inf)
    rank_BT = xp.argsort(xp.argsort(confidence_BT, axis=1, stable=True), axis=1, stable=True)
    return (rank_BT < count_B[:, None]) & step.free_BT


@dataclass(frozen=True)
class Rules:
    """Options of decoding, the same in every pass."""

    free_BT: Array
    """True where the draft may be masked."""
    passes_B: Array
    """T of each row."""
    mask: int
    """Id of the mask token."""
    strategy: Strategy = least_confident
    hide: bool = True
    """The model sees masks where it predicts; if False, the words of the last pass."""
    stop_when_stable: bool = False
    """A row ends when a pass changed none of its tokens."""
    threshold: float | None = None
    """Positions predicted with at least this probability are not masked again."""
    blank: int | None = None
    """As in `Step`."""
    seed: int = 1
    """As in `Step`."""


@dataclass(frozen=True)
class Decoded:
    """Targets after a pass."""

    tokens_BT: Array
    log_probs_BT: Array
    """Log-probability of each token when it was last predicted; 0 where it was pinned."""
    passes_B: Array
    """Passes that predicted a position of each row."""
    masked_BT: Array
    """True where the last pass predicted."""
    stable_B: Array
    """True where the last pass changed nothing; only known if rows end when they are stable."""


def mask_predict(
    predict: Predict,
    draft_BT: Array,
    free_BT: Array,
    passes_B: Array,
    mask: int,
    *,
    strategy: Strategy = least_confident,
    hide: bool = True,
    stop_when_stable: bool = False,
    threshold: float | None = None,
    watch: Callable[[Decoded], None] | None = None,
) -> Decoded:
    """Fill in the `free_BT` positions of `draft_BT` in `passes_B` passes; the keywords are those of `Rules`.

    `watch` is called after each pass.
    """
    rules = Rules(free_BT, passes_B, mask, strategy, hide, stop_when_stable, threshold)
    return passes_from(0, predict, undecoded(draft_BT, free_BT), rules, watch)


def passes_from(
    first: int, predict: Predict, decoded: Decoded, rules: Rules, watch: Callable[[Decoded], None] | None = None
) -> Decoded:
    """Run all passes from number `first` on; ends early when no row has a position to predict."""
    xp = array_namespace(decoded.tokens_BT)
    # Reading a value synchronizes a GPU, so it is read only if rows can end early: mask-predict itself always masks.
    may_end_early = rules.stop_when_stable or rules.threshold is not None or rules.strategy is not least_confident
    for t in range(first, int(xp.max(rules.passes_B))):
        masked_BT = positions_to_mask(t, decoded, rules)
        if (may_end_early or t == first) and not xp.any(masked_BT):
            break
        decoded = one_pass(predict, decoded, masked_BT, rules)
        if watch is not None:
            watch(decoded)
    return decoded


def undecoded(draft_BT: Array, free_BT: Array) -> Decoded:
    """Return drafts before their first pass."""
    xp, draft_device = array_namespace(draft_BT), device(draft_BT)
    rows = draft_BT.shape[0]
    log_probs_BT = xp.zeros(draft_BT.shape, dtype=xp.float32, device=draft_device)
    passes_B = xp.zeros((rows,), dtype=xp.int64, device=draft_device)
    return Decoded(draft_BT, log_probs_BT, passes_B, free_BT, passes_B > 0)


def positions_to_mask(t: int, decoded: Decoded, rules: Rules) -> Array:
    """Return masked_BT for pass `t`: all free positions at first, then the strategy's choice in unfinished rows."""
    if t == 0:
        return rules.free_BT
    step = Step(
        t,
        rules.passes_B,
        decoded.log_probs_BT,
        decoded.masked_BT,
        rules.free_BT,
        decoded.tokens_BT,
        rules.blank,
        rules.seed,
    )
    unfinished_B = t < rules.passes_B
    if rules.stop_when_stable:
        unfinished_B = unfinished_B & ~decoded.stable_B
    masked_BT = rules.strategy(step) & unfinished_B[:, None]
    if rules.threshold is not None:
        masked_BT = masked_BT & (decoded.log_probs_BT < math.log(rules.threshold))
    return masked_BT


def one_pass(predict: Predict, decoded: Decoded, masked_BT: Array, rules: Rules) -> Decoded:
    """Predict the masked positions; all others keep their token and log-probability."""
    xp = array_namespace(masked_BT)
    before_BT = decoded.tokens_BT
    seen_BT = xp.where(masked_BT, rules.mask, before_BT) if rules.hide else before_BT
    best_BT, best_log_probs_BT = predict(seen_BT, masked_BT)
    tokens_BT = xp.where(masked_BT, best_BT, before_BT)
    log_probs_BT = xp.where(masked_BT, xp.astype(best_log_probs_BT, xp.float32), decoded.log_probs_BT)
    predicted_B = xp.astype(xp.any(masked_BT, axis=1), decoded.passes_B.dtype)
    stable_B = xp.all(tokens_BT == before_BT, axis=1) if rules.stop_when_stable else decoded.stable_B
    return Decoded(tokens_BT, log_probs_BT, decoded.passes_B + predicted_B, masked_BT, stable_B)
