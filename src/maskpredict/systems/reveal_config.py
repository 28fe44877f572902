"""How much of an alignment its model sees in training."""

from __future__ import annotations

from dataclasses import dataclass

from maskpredict.bounds import Share
from maskpredict.errors import UserError


@dataclass(frozen=True)
class RevealConfig:
    """Positions of a target's best alignment that the model sees while it learns the others.

    Each sentence is drawn into one of three kinds: partly revealed, glanced at, or fully hidden (the rest).
    """

    partial: Share = 0.3
    """Share of sentences with a random number of positions revealed, from none to all but one: teaches revision."""
    glancing: Share = 0.3
    """Share of sentences with as many positions revealed as a share of those the model gets wrong: makes the first pass
    more consistent (Qian et al., 2021)."""
    glancing_from: Share = 0.5
    """That share of wrong positions at the start of the run."""
    glancing_to: Share = 0.1
    """The same at its end; in between it changes linearly."""

    def __post_init__(self) -> None:
        if self.partial + self.glancing > 1:
            raise UserError(
                f"reveal.partial ({self.partial}) and reveal.glancing ({self.glancing}) add up to more than 1."
            )

    def glancing_share(self, progress: float) -> float:
        """Return the share of wrong positions to reveal at this share of the run, 0 to 1."""
        return self.glancing_from + (self.glancing_to - self.glancing_from) * min(progress, 1.0)
