"""Cells with reasons, and tables as Markdown."""

from __future__ import annotations

from maskpredict.errors import UserError
from maskpredict.paper.cell import Cell, measured
from maskpredict.paper.table import Column, ResultTable, markdown


def test_an_empty_cell_keeps_its_reason() -> None:
    def refuse() -> float:
        raise UserError("the cat is out.")

    assert measured(refuse) == Cell(reason="the cat is out.")
    assert measured(lambda: 1.23456) == Cell(1.2346)


def test_a_table_marks_empty_cells_and_explains_each_reason_once() -> None:
    table = ResultTable(
        (Column("a"), Column("b", percent=True, decimals=1), Column("c")),
        (
            ("x|y", Cell(0.125), Cell(3.14159, 0.5)),
            ("z", Cell(reason="no b."), Cell(reason="no c.")),
            ("w", Cell(reason="no b."), Cell()),
        ),
    )
    assert markdown(table) == (
        "| a | b | c |\n| --- | ---: | ---: |\n| x\\|y | 12.5% | 3.14 ± 0.50 |\n| z | – (1) | – (2) |\n"
        "| w | – (1) | – |\n\n(1) no b.\n\n(2) no c."
    )
