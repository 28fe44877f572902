"""Record of a model's training, kept in its folder, so that comparisons show whether models were trained alike."""

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
    """Target tokens of all updates, padding not counted; not those of the model that the run started from. None if the
    run began before they were counted."""
    weights: str
    """The run's last weights, or the mean of how many checkpoints."""
