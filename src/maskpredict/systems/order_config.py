"""The order of insertions that an insertion model learns."""

from __future__ import annotations

from dataclasses import dataclass

from maskpredict.bounds import PositiveFloat
from maskpredict.config import check_bounds


@dataclass(frozen=True)
class OrderConfig:
    """Weights of the words that a slot may get next."""

    temperature: PositiveFloat | None = 1.0
    """A word d places from the middle of what its slot lacks has a weight of exp(-d / temperature): the lower, the
    closer to a balanced binary tree; with null all words of a slot have the same weight (uniform)."""

    def __post_init__(self) -> None:
        check_bounds(self)
