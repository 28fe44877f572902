"""Decoding strategies: alternatives to mask-predict's choice of positions, behind the same interface.

Most are from the authors' release; `random_order` is after Wang & Cho (2019), and `refine` for the models of
`systems/refinement.py`. A new one is a function from `Step` to the positions to predict, and a line in `STRATEGIES`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from maskpredict.decoding.arrays import Array, array_namespace, device
from maskpredict.decoding.mask_predict import Step, Strategy, least_confident

Iterations = int | Literal["N"]


def easy_first(step: Step) -> Array:
    """Keep the most confident of the masked tokens each pass, the leftmost of equals; mask the others again."""
    xp = array_namespace(step.masked_BT)
    confidence_BT = xp.where(step.masked_BT, step.log_probs_BT, -math.inf)
    return _all_but(step.masked_BT, xp.argmax(confidence_BT, axis=1))


def left_to_right(step: Step) -> Array:
    """Keep the leftmost masked token each pass, whatever its confidence."""
    xp = array_namespace(step.masked_BT)
    return _all_but(step.masked_BT, xp.argmax(xp.astype(step.masked_BT, xp.int32), axis=1))


def random_order(step: Step) -> Array:
    """Keep a random one of the masked tokens each pass, whatever its confidence.

    Wang & Cho (2019) generate text in this order; they also sample the tokens, which is not done here. The order is a
    function of the seed and of the target's length, so that it depends on neither the batch nor the library.
    """
    xp = array_namespace(step.masked_BT)
    size_B1 = xp.sum(xp.astype(step.free_BT, xp.int64), axis=1)[:, None]
    places_T = xp.arange(step.masked_BT.shape[1], dtype=xp.int64, device=device(step.masked_BT))
    number_BT = _scrambled(_scrambled(size_B1 + step.seed) + places_T[None, :])
    return _all_but(step.masked_BT, xp.argmax(xp.where(step.masked_BT, number_BT, -1), axis=1))


def words_and_blanks(step: Step) -> Array:
    """Mask the same share of an alignment's words as of its blanks, the least confident of each.

    The model is more confident of blanks, which carry little information: if they were kept first, the second pass
    would see no words.
    """
    if step.blank is None:
        return least_confident(step)
    blank_BT = step.tokens_BT == step.blank
    words = least_confident(replace(step, free_BT=step.free_BT & ~blank_BT))
    return words | least_confident(replace(step, free_BT=step.free_BT & blank_BT))


def blocks(step: Step) -> Array:
    """Keep the most confident masked token of every T adjacent positions each pass, the leftmost of equals.

    So the masks stay evenly spread over the target, as the Imputer's do (Chan et al., 2020).
    """
    xp = array_namespace(step.masked_BT)
    width = step.masked_BT.shape[1]
    confidence_BT = xp.where(step.masked_BT, step.log_probs_BT, -math.inf)
    rank_BT = _rank(-confidence_BT)
    block_BT = xp.arange(width, device=device(step.masked_BT))[None, :] // step.passes_B[:, None]
    # Sorted by block, and by confidence within a block: each T positions begin with the most confident of a block.
    return step.masked_BT & (_rank(block_BT * width + rank_BT) % step.passes_B[:, None] != 0)


def everything(step: Step) -> Array:
    """Mask all positions, each pass."""
    return step.free_BT


_PRIME = 2**31 - 1
"""Products of two smaller numbers fit 64 bits."""


def _scrambled(numbers: Array) -> Array:
    """Return numbers from 0 to 2^31 - 2 that look random, the same in every library."""
    for constant in (1_103_515_245, 362_436_069, 521_288_629):
        numbers = (numbers + constant) % _PRIME
        numbers = numbers * numbers % _PRIME
    return numbers


def _rank(values_BT: Array) -> Array:
    """Return each value's place in ascending order, the leftmost of equals first."""
    xp = array_namespace(values_BT)
    return xp.argsort(xp.argsort(values_BT, axis=1, stable=True), axis=1, stable=True)


def _all_but(masked_BT: Array, place_B: Array) -> Array:
    """Return the mask without one place in each row."""
    xp = array_namespace(masked_BT)
    places_T = xp.arange(masked_BT.shape[1], device=device(masked_BT))
    return masked_BT & (places_T[None, :] != place_B[:, None])


@dataclass(frozen=True)
class Plan:
    """A strategy, the decoder's input, and the number of passes."""

    strategy: Strategy
    hide: bool = True
    """The model sees masks where it predicts; if False, after the first pass, the words of the previous one."""
    one_per_pass: bool = False
    """Each pass fixes one token, so a row of N tokens takes N passes, whatever `iterations` is."""
    passes: int | None = None
    """A fixed number of passes, whatever `iterations` is."""

    def count(self, free_B: Array, iterations: Iterations) -> Array:
        """Return the number of passes of rows with `free_B` positions to fill in."""
        xp = array_namespace(free_B)
        if self.passes is not None:
            return xp.full_like(free_B, self.passes)
        if self.one_per_pass or iterations == "N":
            return xp.where(free_B < 1, 1, free_B)
        return xp.full_like(free_B, iterations)


STRATEGIES: dict[str, Plan] = {
    "mask_predict": Plan(least_confident),
    "one_shot": Plan(least_confident, passes=1),
    "easy_first": Plan(easy_first, one_per_pass=True),
    "left_to_right": Plan(left_to_right, one_per_pass=True),
    "random_order": Plan(random_order, one_per_pass=True),
    "words_and_blanks": Plan(words_and_blanks),
    "blocks": Plan(blocks),
    "refine": Plan(everything, hide=False),
}
"""Decoding strategies by name."""
