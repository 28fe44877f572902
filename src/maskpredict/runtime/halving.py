"""A batch that does not fit the memory is computed in halves."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")

Start = Callable[[list[T]], Callable[[], list[R]]]
"""Begins to compute, and gives a function that waits for the results, one for each item."""


def in_halves_if_needed(
    start: Start[T, R], items: list[T], when_halved: Callable[[], None] = lambda: None
) -> Callable[[], list[R]]:
    """What `start` does: with all items at once, or with as many as there is memory for."""
    begun = _unless_too_large(lambda: start(items), len(items))
    if begun is None:
        found = _in_halves(start, items, when_halved)
        return lambda: found

    def finish() -> list[R]:
        found = _unless_too_large(begun, len(items))
        return _in_halves(start, items, when_halved) if found is None else found

    return finish


def _unless_too_large(compute: Callable[[], R], size: int) -> R | None:
    try:
        return compute()
    except torch.OutOfMemoryError:
        if size == 1:
            raise
        logging.getLogger(__name__).warning(
            "A batch of %d sentences does not fit the memory of the GPU; going on with half of it.", size
        )
    return None


def _in_halves(start: Start[T, R], items: list[T], when_halved: Callable[[], None]) -> list[R]:
    # Called outside of `except`, where what the failed attempt has allocated could not be freed.
    when_halved()
    torch.cuda.empty_cache()
    half = len(items) // 2
    halves = (items[:half], items[half:])
    return [found for own in halves for found in in_halves_if_needed(start, own, when_halved)()]
