"""Tables as data and as Markdown; a note explains each empty cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maskpredict.paper.cell import Cell

EMPTY = "–"


@dataclass(frozen=True)
class Column:
    """Heading of a column, and the format of its numbers."""

    title: str
    decimals: int = 2
    percent: bool = False
    """The numbers are fractions from 0 to 1, printed in percent."""
    key: bool = False
    """Part of the key of a row: rows of two tables match if their key columns are equal."""

    def format(self, entry: str | Cell) -> str:
        """Text of a cell of this column."""
        if isinstance(entry, str):
            return entry
        if entry.value is None:
            return EMPTY
        scale, unit = (100, "%") if self.percent else (1, "")
        text = f"{scale * entry.value:,.{self.decimals}f}{unit}"
        return text if entry.plus_minus is None else f"{text} ± {scale * entry.plus_minus:.{self.decimals}f}"


@dataclass(frozen=True)
class ResultTable:
    """Rows of text and numbers."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str | Cell, ...], ...]


@dataclass(frozen=True)
class RenderedTable:
    """A table as text, the input of the Markdown and HTML writers."""

    head: list[str]
    rows: list[list[str]]
    notes: list[str]
    """Reasons of empty cells; cells refer to the n-th as (n)."""
    numeric: list[bool]
    """True for columns of numbers, which are aligned to the right."""


def render(table: ResultTable) -> RenderedTable:
    """Text of every cell; an empty one has the number of its note in brackets."""
    notes: list[str] = []
    rows = [
        [_cell_text(column, entry, notes) for column, entry in zip(table.columns, row, strict=True)]
        for row in table.rows
    ]
    numeric = [any(isinstance(row[place], Cell) for row in table.rows) for place in range(len(table.columns))]
    return RenderedTable([column.title for column in table.columns], rows, notes, numeric)


def markdown(table: ResultTable) -> str:
    """The table as Markdown, followed by its notes."""
    text = render(table)
    rule = ["---:" if numeric else "---" for numeric in text.numeric]
    lines = [_line(row) for row in (text.head, rule, *text.rows)]
    notes = [f"({number}) {note}" for number, note in enumerate(text.notes, 1)]
    return "\n".join(lines) + "".join(f"\n\n{note}" for note in notes)


def _cell_text(column: Column, entry: str | Cell, notes: list[str]) -> str:
    text = column.format(entry)
    if isinstance(entry, str) or not entry.reason:
        return text
    if entry.reason not in notes:
        notes.append(entry.reason)
    return f"{text} ({notes.index(entry.reason) + 1})"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
