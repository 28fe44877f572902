"""How well the target's length is guessed, by that length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from maskpredict.errors import UserError
from maskpredict.paper.analysis import Analysis
from maskpredict.paper.cell import Cell
from maskpredict.paper.plot import BLUE, GREEN, ORANGE, panels
from maskpredict.paper.study import CANDIDATES, Study
from maskpredict.paper.table import Column, ResultTable

BOUNDS = (1, 10, 20, 30, 40, 60)
"""Subwords, the end mark included, of the shortest references of each row."""


@dataclass(frozen=True)
class LengthRow:
    """References of one range of lengths; the first row has all."""

    name: str
    sentences: int
    exact: Cell
    """Share, 0 to 1, of sentences whose likeliest length is the reference's."""
    near: Cell
    """Share off by one at most."""
    among: Cell
    """Share with the reference's length among five candidates."""
    error: Cell
    """Mean of predicted less right length, in subwords: below 0 is too short."""


@dataclass(frozen=True)
class LengthHeadAccuracy:
    """All ranges."""

    rows: tuple[LengthRow, ...]


def length_head(study: Study) -> LengthHeadAccuracy:
    """Compare the five likeliest lengths with the reference's, in the model's subwords."""
    names = ["all", *(_name(place) for place in range(len(BOUNDS)))]
    try:
        study.require_length_head()
        tried = [found.lengths for found in study.mask_predict(1, CANDIDATES).translations]
        right = [len(ids) + 1 for ids in study.target_ids()]
    except UserError as error:
        empty = Cell(reason=str(error))
        return LengthHeadAccuracy(tuple(LengthRow(name, 0, empty, empty, empty, empty) for name in names))
    guesses = [(own, length) for own, length in zip(tried, right, strict=True) if own]
    buckets = [guesses, *([guess for guess in guesses if _bucket(guess[1]) == place] for place in range(len(BOUNDS)))]
    return LengthHeadAccuracy(tuple(accuracy(name, own) for name, own in zip(names, buckets, strict=True)))


def accuracy(name: str, guesses: Sequence[tuple[Sequence[int], int]]) -> LengthRow:
    """What lengths, likeliest first, are worth where the right ones are known."""
    if not guesses:
        empty = Cell(reason="no reference has such a length.")
        return LengthRow(name, 0, empty, empty, empty, empty)

    def share(hits: Sequence[bool]) -> Cell:
        return Cell(round(sum(hits) / len(guesses), 6))

    return LengthRow(
        name,
        len(guesses),
        share([tried[0] == right for tried, right in guesses]),
        share([abs(tried[0] - right) <= 1 for tried, right in guesses]),
        share([right in tried for tried, right in guesses]),
        Cell(round(sum(tried[0] - right for tried, right in guesses) / len(guesses), 6)),
    )


def _bucket(length: int) -> int:
    return max(place for place, shortest in enumerate(BOUNDS) if length >= shortest)


def _name(place: int) -> str:
    return f"[{BOUNDS[place]}, {BOUNDS[place + 1] if place + 1 < len(BOUNDS) else '∞'})"


def _table(result: LengthHeadAccuracy) -> ResultTable:
    columns = (
        Column("subwords"),
        Column("sentences"),
        Column("exact", decimals=1, percent=True),
        Column("off by one at most", decimals=1, percent=True),
        Column(f"among {CANDIDATES}", decimals=1, percent=True),
        Column("mean error"),
    )
    return ResultTable(
        columns,
        tuple((row.name, f"{row.sentences:,}", row.exact, row.near, row.among, row.error) for row in result.rows),
    )


def _draw(result: LengthHeadAccuracy) -> Figure | None:
    known = [row for row in result.rows[1:] if row.exact.value is not None]
    if not known:
        return None
    figure, (axes,) = panels()
    looks = (
        ("among", "^-", GREEN, f"among {CANDIDATES} candidates"),
        ("near", "s-", ORANGE, "off by one at most"),
        ("exact", "o-", BLUE, "exact"),
    )
    for name, look, color, label in looks:
        axes.plot([100 * (getattr(row, name).value or 0) for row in known], look, color=color, label=label)
    labels = [f"{row.name}\n{row.sentences:,}" for row in known]
    axes.set(title="right lengths, %, by subwords of the reference", xticks=range(len(known)), xticklabels=labels)
    axes.set_ylim(0, 100)
    axes.legend()
    return figure


ANALYSIS = Analysis(
    name="length_head",
    title="Accuracy of the length head",
    about="The likeliest target lengths and the reference's, in the model's subwords, end mark included.",
    result=LengthHeadAccuracy,
    run=length_head,
    table=_table,
    draw=_draw,
)
