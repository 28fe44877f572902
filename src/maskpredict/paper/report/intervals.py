"""Intervals of 95% around the numbers that decide claims.

Where results have counts of their sentences, the interval is a paired bootstrap: each resample of sentences is drawn
for all systems at once, and the claim is measured on it as on the whole test set. Where cells have intervals of their
own alone, the interval is the sum of theirs, which is wider than a paired one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count
from typing import Any

import numpy as np

from maskpredict.errors import UserError
from maskpredict.evaluate.scores import RESAMPLES
from maskpredict.evaluate.sentence_counts import Counts, Floats
from maskpredict.paper.cell import Cell, FromSentences
from maskpredict.paper.counts import resamples, with_cells
from maskpredict.paper.report.claims import Claim

LEVEL = (2.5, 97.5)
"""Percentiles of the resampled numbers."""
UNDEFINED_AT_MOST = 0.01
"""Share of resamples on which a number may be undefined, such as a share of nothing."""
NUDGE = 1e-3
"""Change of a cell that shows whether a claim depends on it; smaller than any threshold."""


class Kind(StrEnum):
    """How an interval was found."""

    paired = "paired bootstrap"
    sum = "sum of the systems' own intervals"


@dataclass(frozen=True)
class Interval:
    """Lowest and highest value that the data allow."""

    low: float
    high: float
    kind: Kind = Kind.paired


def interval_of(claim: Claim, result: Any, counts: Mapping[str, Counts]) -> Interval | None:
    """The interval of a claim's number; None where the results do not allow one."""
    return paired_interval(claim, result, counts) or summed_interval(claim, result)


class _Resample:
    """The resample on which cells are read at the moment."""

    number = 0


class _ResampledCell(Cell):
    """A cell whose value is that of the current resample, so that one result serves all of them."""

    def __init__(self, values: Floats, current: _Resample) -> None:
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_current", current)

    _values: Floats
    _current: _Resample

    @property
    def value(self) -> float | None:
        return float(self._values[self._current.number])


def paired_interval(claim: Claim, result: Any, counts: Mapping[str, Counts]) -> Interval | None:
    """The interval over resamples of sentences; None if the claim needs a cell without counts."""
    current = _Resample()
    drawn: dict[FromSentences, Floats | None] = {}

    def resampled(cell: Cell) -> Cell:
        if cell.sentences and cell.sentences not in drawn:
            drawn[cell.sentences] = resamples(cell.sentences, counts)
        values = drawn[cell.sentences] if cell.sentences else None
        return Cell(reason="its sentences were not counted.") if values is None else _ResampledCell(values, current)

    sampled = with_cells(result, resampled)
    numbers: list[float] = []
    for current.number in range(RESAMPLES):
        try:
            numbers.append(claim.measure(sampled))
        except UserError:  # no counts, or a resample on which the number means nothing
            if current.number - len(numbers) > UNDEFINED_AT_MOST * RESAMPLES:
                return None
    low, high = np.percentile(numbers, LEVEL)
    return Interval(float(low), float(high))


def summed_interval(claim: Claim, result: Any) -> Interval | None:
    """The number, plus and minus all that the cells it depends on may be off; None if one of these has no interval."""
    number, reach = claim.measure(result), 0.0
    for place, cell in enumerate(cells_of(result)):
        if cell.value is None:
            continue
        change = cell.plus_minus or NUDGE
        moved = max(abs(claim.measure(_moved(result, place, step)) - number) for step in (change, -change))
        if moved and cell.plus_minus is None:
            return None
        reach += moved
    return Interval(number - reach, number + reach, Kind.sum)


def cells_of(result: Any) -> list[Cell]:
    """All cells of the result of an analysis, in their order."""
    cells: list[Cell] = []

    def keep(cell: Cell) -> Cell:
        cells.append(cell)
        return cell

    with_cells(result, keep)
    return cells


def _moved(result: Any, place: int, step: float) -> Any:
    """The result with one cell's value changed by `step`."""
    places = count()

    def move(cell: Cell) -> Cell:
        return replace(cell, value=(cell.value or 0.0) + step) if next(places) == place else cell

    return with_cells(result, move)
