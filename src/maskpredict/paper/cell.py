"""A number, or the reason why there is none: what could not be measured must not stop the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from maskpredict.errors import UserError

R = TypeVar("R")


@dataclass(frozen=True)
class Cell:
    """One place in a table."""

    value: float | None = None
    plus_minus: float | None = None
    """Half the 95% confidence interval, where it was estimated."""
    reason: str = ""
    """Why there is no value, in a sentence."""


def measured(measure: Callable[[], float | Cell]) -> Cell:
    """What `measure` returns, or the reason that it gives."""
    try:
        found = measure()
    except UserError as error:
        return Cell(reason=str(error))
    return found if isinstance(found, Cell) else Cell(round(found, 4))


def first_of(rows: Iterable[R], what: str) -> R:
    """The first of the rows that were looked for; refuses when there is none."""
    for row in rows:
        return row
    raise UserError(f"there is no number for {what}.")
