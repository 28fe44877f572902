"""What an analysis is to those who run it and write it down."""

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
    """A measurement with a table and perhaps a picture."""

    name: str
    """Of its files, and what `--only` takes."""
    title: str
    about: str
    """What is measured and how, in a sentence or two."""
    result: type[R]
    """A frozen dataclass of numbers."""
    run: Callable[[Study], R]
    table: Callable[[R], ResultTable]
    draw: Callable[[R], Figure | None] | None = None
    """The picture; None where there is nothing to draw."""
    note: Callable[[R], str] | None = None
    """A sentence below the table."""
