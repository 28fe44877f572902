"""How long something takes, and what to say about a number that was measured several times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import TypeVar

import torch

T = TypeVar("T")


@dataclass(frozen=True)
class Spread:
    """A median and the quartiles around it: half of the measurements lie between `low` and `high`."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of one measurement or more."""
        low, median, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
        return cls(median, low, high)


def timed(work: Callable[[], T], device: str = "cpu") -> tuple[T, float]:
    """The result of some work and the seconds it took, until the device had finished it, too."""
    _wait_for(device)
    start = time.perf_counter()
    result = work()
    _wait_for(device)
    return result, time.perf_counter() - start


def _wait_for(device: str) -> None:
    """A GPU works through its orders while Python has long gone on."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
