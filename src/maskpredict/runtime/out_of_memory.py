"""Retry of batches that do not fit in memory, split into halves."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from maskpredict.decoding.engine import Engine

T = TypeVar("T")
R = TypeVar("R")

Start = Callable[[list[T]], Callable[[], list[R]]]
"""Starts a computation, and returns a function that waits for the results, one for each item."""


def start_splitting(
    start: Start[T, R], items: list[T], engine: Engine, on_split: Callable[[], None] = lambda: None
) -> Callable[[], list[R]]:
    """Start with all items, or split them until they fit in memory; `on_split` is called at each split."""
    started = _unless_too_large(lambda: start(items), len(items), engine)
    if started is None:
        results = _in_halves(start, items, engine, on_split)
        return lambda: results

    def finish() -> list[R]:
        results = _unless_too_large(started, len(items), engine)
        return _in_halves(start, items, engine, on_split) if results is None else results

    return finish


def _unless_too_large(compute: Callable[[], R], size: int, engine: Engine) -> R | None:
    try:
        return compute()
    except engine.out_of_memory:
        if size == 1:
            raise
        logging.getLogger(__name__).warning(
            "A batch of %d sentences does not fit in the GPU's memory; retrying with half of it.", size
        )
    return None


def _in_halves(start: Start[T, R], items: list[T], engine: Engine, on_split: Callable[[], None]) -> list[R]:
    # Called outside of `except`, where the memory of the failed attempt could not be freed.
    on_split()
    engine.free_memory()
    half = len(items) // 2
    halves = (items[:half], items[half:])
    return [result for part in halves for result in start_splitting(start, part, engine, on_split)()]
