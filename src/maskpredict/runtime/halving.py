"""A batch that does not fit the memory is computed in halves."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


def in_halves_if_needed(
    compute: Callable[[list[T]], list[R]], items: list[T], when_halved: Callable[[], None] = lambda: None
) -> list[R]:
    """What `compute` makes of the items, a result for each: of all at once, or of as many as there is memory for."""
    try:
        return compute(items)
    except torch.OutOfMemoryError:
        if len(items) == 1:
            raise
        logging.getLogger(__name__).warning(
            "A batch of %d sentences does not fit the memory of the GPU; going on with half of it.", len(items)
        )
    when_halved()
    # Outside of `except`, where what the failed attempt has allocated could not be freed.
    torch.cuda.empty_cache()
    half = len(items) // 2
    return [
        *in_halves_if_needed(compute, items[:half], when_halved),
        *in_halves_if_needed(compute, items[half:], when_halved),
    ]
