"""Our table with additional columns for the paper's numbers."""

from __future__ import annotations

from dataclasses import replace

from maskpredict.paper.cell import Cell
from maskpredict.paper.table import Column, ResultTable

Row = tuple[str | Cell, ...]


def with_paper_columns(ours: ResultTable, paper: ResultTable, data_set: str) -> ResultTable:
    """Our table with the paper's numbers to the right of each column for which the paper has any.

    Rows match if their key columns are equal. Both tables come from the same analysis, so they begin with the same
    columns; ours may have more behind them.
    """
    keys = [place for place, column in enumerate(ours.columns) if column.key]
    paper_rows = {_key(row, keys): row for row in paper.rows}
    matching = [paper_rows.get(_key(row, keys)) for row in ours.rows]
    columns: list[Column] = []
    entries: list[list[str | Cell]] = [[] for _ in ours.rows]
    for place, column in enumerate(ours.columns):
        columns.append(column)
        for entry, row in zip(entries, ours.rows, strict=True):
            entry.append(row[place])
        numbers = [_number(row, place) for row in matching]
        if any(number is not None for number in numbers):
            columns.append(replace(column, title=f"{column.title}, {data_set}"))
            for entry, number in zip(entries, numbers, strict=True):
                entry.append(Cell(number))
    return ResultTable(tuple(columns), tuple(map(tuple, entries)))


def _key(row: Row, keys: list[int]) -> Row:
    return tuple(row[place] for place in keys)


def _number(row: Row | None, place: int) -> float | None:
    cell = row[place] if row and place < len(row) else ""
    return cell.value if isinstance(cell, Cell) else None
