"""`Cell`: a measured number, or the reason why there is none, so that one failure does not stop an analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from maskpredict.errors import UserError

R = TypeVar("R")


@dataclass(frozen=True)
class FromSentences:
    """Counts that a number was computed from, so that it can be computed for any resample of the sentences."""

    key: str
    """Key of the translations in the file of counts; see `paper.counts`."""
    measure: Literal["bleu", "repeated"] = "bleu"
    """BLEU, or the share of repeated subwords."""
    shortest: int = 0
    """Words of the shortest references that count."""
    below: int | None = None
    """Exclusive upper bound of the words of the references that count; None for none."""


@dataclass(frozen=True)
class Cell:
    """One cell of a table."""

    value: float | None = None
    plus_minus: float | None = None
    """Half the width of the 95% confidence interval, if it was estimated."""
    reason: str = ""
    """Sentence that says why there is no value."""
    sentences: FromSentences | None = field(default=None, compare=False)
    """Counts of the sentences that it was computed from; None if it is not a number of that kind."""


def measured(measure: Callable[[], float | Cell]) -> Cell:
    """Cell with the result of `measure`, or with the message of its `UserError`."""
    try:
        value = measure()
    except UserError as error:
        return Cell(reason=str(error))
    return value if isinstance(value, Cell) else Cell(round(value, 4))


def first_of(rows: Iterable[R], what: str) -> R:
    """First of the matching rows; raises `UserError` if there is none."""
    for row in rows:
        return row
    raise UserError(f"there is no number for {what}.")
