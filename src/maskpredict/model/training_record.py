"""How a model was trained, as its folder says: tables that compare models show whether they had the same chances."""

from __future__ import annotations

from dataclasses import dataclass

RANDOM = "random"


@dataclass(frozen=True)
class TrainingRecord:
    """Start, length and end of a training run."""

    start: str
    """`random`, or the system and the first digits of the checksum of the weights that it started from."""
    updates: int
    target_tokens: int | None
    """Target tokens that the run has learned from, padding not counted, each time that they were seen; not those of
    the model that it started from. None if the run began before they were counted."""
    weights: str
    """The run's last weights, or the mean of how many checkpoints."""
