"""Changes by pass: the fraction of positions that a pass predicts again, and the fraction that it changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from maskpredict.errors import UserError
from maskpredict.paper.analysis import Analysis
from maskpredict.paper.cell import Cell
from maskpredict.paper.models import MODEL
from maskpredict.paper.plot import BLUE, GREY, panels
from maskpredict.paper.study import Study, passes_and_candidates
from maskpredict.paper.table import Column, ResultTable
from maskpredict.paper.translations import TranslatedSentence

PASSES = 10


@dataclass(frozen=True)
class PassRow:
    """One pass; the first predicts everything."""

    number: int
    masked: Cell
    """Fraction of positions that it predicts again, 0 to 1."""
    changed: Cell
    """Fraction of positions that it changes."""


@dataclass(frozen=True)
class ChangedTokens:
    """Changes of every pass after the first."""

    rows: tuple[PassRow, ...]


def changed_tokens(study: Study) -> ChangedTokens:
    """Changes of ten passes with one length candidate; end marks count as positions."""
    try:
        if study.models.system(MODEL) == "alignment":
            raise UserError("positions of an alignment are not words; this needs a CMLM.")
        sentences = study.translate(MODEL, {**passes_and_candidates(PASSES, 1), "trace": True}).sentences
        traced = [sentence for sentence in sentences if sentence.changes]
        if not traced:
            raise UserError("no sentence could be followed from pass to pass; this needs a CMLM.")
    except UserError as error:
        empty = Cell(reason=str(error))
        return ChangedTokens(tuple(PassRow(number, empty, empty) for number in range(2, PASSES + 1)))
    return ChangedTokens(shares(traced))


def shares(sentences: Sequence[TranslatedSentence]) -> tuple[PassRow, ...]:
    """Fractions over all positions of all sentences."""
    lengths = [len(sentence.translation.tokens) for sentence in sentences]
    rows = []
    for t in range(1, PASSES):
        masked = sum(max(1, length * (PASSES - t) // PASSES) for length in lengths)
        changed = sum(sentence.changes[t - 1] for sentence in sentences)
        total = sum(lengths)
        rows.append(PassRow(t + 1, Cell(round(masked / total, 6)), Cell(round(changed / total, 6))))
    return tuple(rows)


def _table(result: ChangedTokens) -> ResultTable:
    columns = (
        Column("pass"),
        Column("predicted again", decimals=1, percent=True),
        Column("changed", decimals=1, percent=True),
    )
    return ResultTable(columns, tuple((str(row.number), row.masked, row.changed) for row in result.rows))


def _draw(result: ChangedTokens) -> Figure | None:
    known = [row for row in result.rows if row.changed.value is not None]
    if not known:
        return None
    figure, (axes,) = panels()
    numbers = [row.number for row in known]
    for name, color, label in (("masked", GREY, "predicted again"), ("changed", BLUE, "changed")):
        bars = axes.bar(numbers, [100 * (getattr(row, name).value or 0) for row in known], color=color, label=label)
    axes.bar_label(bars, fmt="%.1f", padding=2, fontsize=9)
    axes.set(title="share of all positions, %", xlabel="pass", xticks=numbers)
    axes.grid(axis="x", visible=False)
    axes.legend()
    return figure


ANALYSIS = Analysis(
    name="changed_tokens",
    title="What each pass changes",
    about="Share of positions that a pass predicts again, and that come out differently; T = 10, one length candidate.",
    result=ChangedTokens,
    run=changed_tokens,
    table=_table,
    draw=_draw,
)
