"""Learning-rate schedules."""

from __future__ import annotations

import math

from maskpredict.training.config import OptimizerConfig


def rewarmup_share(forgot_at: int | None, update: int, rewarmup: int) -> float:
    """Factor of the learning rate at an update, counted from 1, of a run that lost its moments at `forgot_at`.

    The first steps with fresh moments are too large at the full rate.
    """
    return 1.0 if forgot_at is None else min(1.0, (update - forgot_at) / max(rewarmup, 1))


def learning_rate(config: OptimizerConfig, update: int, done: float) -> float:
    """Learning rate of an update, counted from 1; `done` is the finished share of the run, 0 to 1."""
    peak = config.rate * min(1.0, update / max(config.warmup, 1))
    if config.schedule == "linear":
        return peak * max(0.0, 1.0 - done)
    return peak * min(1.0, math.sqrt(max(config.warmup, 1) / update))
