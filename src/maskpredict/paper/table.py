"""Tables with empty cells that say why: as data, and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maskpredict.paper.cell import Cell

EMPTY = "–"


@dataclass(frozen=True)
class Column:
    """The head of a column, and how its numbers are written."""

    title: str
    decimals: int = 2
    percent: bool = False
    """The numbers are shares from 0 to 1."""
    key: bool = False
    """Says which row it is: rows of two tables belong together when these columns agree."""

    def shown(self, entry: str | Cell) -> str:
        """A cell of this column as text."""
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
    """A table as text: what Markdown and HTML are made of."""

    head: list[str]
    rows: list[list[str]]
    notes: list[str]
    """Why cells are empty; the n-th is marked (n)."""
    numeric: list[bool]
    """Columns to align to the right."""


def shown(table: ResultTable) -> RenderedTable:
    """The text of every cell, with a number in brackets where a note explains an empty one."""
    notes: list[str] = []
    rows = [
        [_marked(column, entry, notes) for column, entry in zip(table.columns, row, strict=True)] for row in table.rows
    ]
    numeric = [any(isinstance(row[place], Cell) for row in table.rows) for place in range(len(table.columns))]
    return RenderedTable([column.title for column in table.columns], rows, notes, numeric)


def markdown(table: ResultTable) -> str:
    """The table and its notes."""
    text = shown(table)
    rule = ["---:" if numeric else "---" for numeric in text.numeric]
    lines = [_line(row) for row in (text.head, rule, *text.rows)]
    notes = [f"({number}) {note}" for number, note in enumerate(text.notes, 1)]
    return "\n".join(lines) + "".join(f"\n\n{note}" for note in notes)


def _marked(column: Column, entry: str | Cell, notes: list[str]) -> str:
    text = column.shown(entry)
    if isinstance(entry, str) or not entry.reason:
        return text
    if entry.reason not in notes:
        notes.append(entry.reason)
    return f"{text} ({notes.index(entry.reason) + 1})"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
