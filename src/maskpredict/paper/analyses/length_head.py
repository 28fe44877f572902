"""Accuracy of the predicted target length, by length of the reference."""

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
"""Lower bounds of the length ranges in subwords, with the end mark."""


@dataclass(frozen=True)
class LengthRow:
    """Accuracy for references of one length range; the first row is for all references."""

    name: str
    sentences: int
    exact: Cell
    """Fraction of sentences, 0 to 1, whose most likely length is the reference's."""
    near: Cell
    """Fraction off by at most one."""
    among: Cell
    """Fraction with the reference's length among five candidates."""
    error: Cell
    """Mean of predicted minus reference length, in subwords; negative is too short."""


@dataclass(frozen=True)
class LengthHeadAccuracy:
    """Accuracy for all length ranges."""

    rows: tuple[LengthRow, ...]


def length_head(study: Study) -> LengthHeadAccuracy:
    """Compare the five most likely lengths with the reference's, in subwords of the model."""
    names = ["all", *(_name(place) for place in range(len(BOUNDS)))]
    try:
        study.require_length_head()
        tried = [translation.lengths for translation in study.mask_predict(1, CANDIDATES).translations]
        right = [len(ids) + 1 for ids in study.target_ids()]
    except UserError as error:
        empty = Cell(reason=str(error))
        return LengthHeadAccuracy(tuple(LengthRow(name, 0, empty, empty, empty, empty) for name in names))
    guesses = [(lengths, length) for lengths, length in zip(tried, right, strict=True) if lengths]
    buckets = [guesses, *([guess for guess in guesses if _bucket(guess[1]) == place] for place in range(len(BOUNDS)))]
    return LengthHeadAccuracy(tuple(accuracy(name, bucket) for name, bucket in zip(names, buckets, strict=True)))


def accuracy(name: str, guesses: Sequence[tuple[Sequence[int], int]]) -> LengthRow:
    """Accuracy of `guesses`: pairs of length candidates, the most likely first, and the reference's length."""
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
