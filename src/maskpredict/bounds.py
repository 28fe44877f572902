"""Bounds of numeric settings, declared in the type of a field.

    @dataclass(frozen=True)
    class OptimizerConfig:
        rate: PositiveFloat = 5e-4
        beta1: Fraction = 0.9

`maskpredict.config` refuses a number outside its bounds. Infinity and NaN are outside of all bounds.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class Bounds:
    """An interval of finite numbers; a limit that is None does not limit."""

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None

    def allow(self, value: float) -> bool:
        """Return whether a number lies in the interval."""
        return (
            abs(value) <= sys.float_info.max  # true of no infinity and not of NaN; converting a long int would overflow
            and (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )

    def __str__(self) -> str:
        """The interval in words that follow "a number", such as "of at least 0 and below 1"."""
        limits = {"of at least": self.at_least, "above": self.above, "at most": self.at_most, "below": self.below}
        return " and ".join(f"{words} {limit:g}" for words, limit in limits.items() if limit is not None)


PositiveInt = Annotated[int, Bounds(at_least=1)]
NonNegativeInt = Annotated[int, Bounds(at_least=0)]
PositiveFloat = Annotated[float, Bounds(above=0)]
NonNegativeFloat = Annotated[float, Bounds(at_least=0)]
FiniteFloat = Annotated[float, Bounds()]
Fraction = Annotated[float, Bounds(at_least=0, below=1)]
Share = Annotated[float, Bounds(at_least=0, at_most=1)]
