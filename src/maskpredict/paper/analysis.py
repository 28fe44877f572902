"""`Analysis`: a measurement with its name, its table and its figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from matplotlib.figure import Figure

from maskpredict.paper.study import Study
from maskpredict.paper.table import ResultTable

R = TypeVar("R")


@dataclass(frozen=True)
class Analysis(Generic[R]):
    """A measurement, and how its result becomes a table and a figure."""

    name: str
    """Stem of its files, and its name in `--only`."""
    title: str
    about: str
    """One or two sentences on what is measured and how."""
    result: type[R]
    """A frozen dataclass of numbers."""
    run: Callable[[Study], R]
    table: Callable[[R], ResultTable]
    draw: Callable[[R], Figure | None] | None = None
    """Draws the figure; returns None if there is nothing to draw."""
    note: Callable[[R], str] | None = None
    """Returns a sentence to print below the table."""
