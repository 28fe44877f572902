"""The learning rate over a run."""

from __future__ import annotations

import math

from maskpredict.training.config import OptimizerConfig


def learning_rate(config: OptimizerConfig, update: int, done: float) -> float:
    """Rate of an update, counted from 1, when a share `done` of the run (0 to 1) lies behind it."""
    if update <= config.warmup:
        return config.rate * update / config.warmup
    if config.schedule == "inverse_sqrt":
        return config.rate * math.sqrt(max(config.warmup, 1) / update)
    return config.rate * max(0.0, 1.0 - done)
