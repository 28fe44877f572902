"""Other orders in which to fill in a masked target, behind mask-predict's interface.

Most are the siblings that the authors released beside mask-predict; `refine` is how the model of
`systems/refinement.py` translates. A new one is a function from `Step` to the positions to predict, and a line in
`STRATEGIES`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from maskpredict.decoding.mask_predict import Step, Strategy, least_confident

Iterations = int | Literal["N"]


def easy_first(step: Step) -> Tensor:
    """Keep the most confident of the masked tokens each pass, the leftmost of equals; mask the others again."""
    confidence_BT = step.log_probs_BT.masked_fill(~step.masked_BT, -math.inf)
    surest_B1 = confidence_BT.argmax(1, keepdim=True)
    return step.masked_BT.scatter(1, surest_B1, False)


def left_to_right(step: Step) -> Tensor:
    """Keep the leftmost masked token each pass, whatever its confidence."""
    leftmost_B1 = step.masked_BT.to(torch.uint8).argmax(1, keepdim=True)
    return step.masked_BT.scatter(1, leftmost_B1, False)


def everything(step: Step) -> Tensor:
    """All positions, each pass."""
    return step.free_BT


@dataclass(frozen=True)
class Plan:
    """A strategy, what the model sees, and the number of passes that it needs."""

    strategy: Strategy
    hide: bool = True
    """The model sees masks where it predicts; else, after the first pass, the words that stand there."""
    one_per_pass: bool = False
    """One token is fixed in a pass, so a row of N tokens takes N passes whatever was asked."""
    passes: int | None = None
    """A fixed number of passes, whatever was asked."""

    def count(self, free_B: Tensor, iterations: Iterations) -> Tensor:
        """Passes for rows with `free_B` positions to fill in."""
        if self.passes is not None:
            return torch.full_like(free_B, self.passes)
        if self.one_per_pass or iterations == "N":
            return free_B.clamp(min=1)
        return torch.full_like(free_B, iterations)


STRATEGIES: dict[str, Plan] = {
    "mask_predict": Plan(least_confident),
    "one_shot": Plan(least_confident, passes=1),
    "easy_first": Plan(easy_first, one_per_pass=True),
    "left_to_right": Plan(left_to_right, one_per_pass=True),
    "refine": Plan(everything, hide=False),
}
"""Decoding strategies by name."""
