"""Detection of a training loss that rises instead of falling."""

from __future__ import annotations

MEMORY = 0.9
"""Weight of the past in the running mean of the loss, so that single batches do not matter."""
TIMES, NATS = 1.5, 1.0
"""A rise of the mean by both this factor and this amount, above its lowest value, is a divergence."""


class Divergence:
    """Running mean of the training loss, compared with its lowest value."""

    def __init__(self) -> None:
        self.mean: float | None = None
        self.lowest, self.lowest_at = float("inf"), 0
        self.diverging = False

    def observe(self, loss: float, update: int) -> str | None:
        """Add the loss at an update; returns a sentence when the run begins to diverge, else None."""
        self.mean = loss if self.mean is None else MEMORY * self.mean + (1 - MEMORY) * loss
        if self.mean < self.lowest:
            self.lowest, self.lowest_at = self.mean, update
        before, self.diverging = self.diverging, self.mean > max(TIMES * self.lowest, self.lowest + NATS)
        if before or not self.diverging:
            return None
        return (
            f"The run diverges: its training loss has risen from {self.lowest:.2f} around update {self.lowest_at:,} to "
            f"{self.mean:.2f} at update {update:,}. Its best checkpoints are kept; a new run with a lower "
            "optimizer.rate or a longer optimizer.warmup may not diverge."
        )
