"""Timing of a call, and the spread of repeated measurements."""

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
    """Median and quartiles of repeated measurements."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Spread of one or more measurements."""
        low, median, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
        return cls(median, low, high)


def timed(work: Callable[[], T], device: str = "cpu") -> tuple[T, float]:
    """Result of `work` and its time in seconds, including the time until the device has finished."""
    _synchronize(device)
    start = time.perf_counter()
    result = work()
    _synchronize(device)
    return result, time.perf_counter() - start


def _synchronize(device: str) -> None:
    """Wait for all GPU kernels, which run asynchronously."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
