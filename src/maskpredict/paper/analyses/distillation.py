"""Effect of distillation: the same model trained on raw and on distilled text (Table 6 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure

from maskpredict.paper.analysis import Analysis
from maskpredict.paper.cell import Cell, first_of
from maskpredict.paper.models import MODEL
from maskpredict.paper.plot import BLUE, GREY, panels
from maskpredict.paper.study import Study, passes_and_candidates
from maskpredict.paper.table import Column, ResultTable

PASSES = (1, 4, 10)


@dataclass(frozen=True)
class DistillationRow:
    """BLEU for one number of passes."""

    passes: int
    raw: Cell
    distilled: Cell


@dataclass(frozen=True)
class DistillationResult:
    """BLEU for every number of passes."""

    rows: tuple[DistillationRow, ...]

    def row(self, passes: int) -> DistillationRow:
        """Row for this number of passes."""
        return first_of((row for row in self.rows if row.passes == passes), f"T = {passes}")


def distillation(study: Study) -> DistillationResult:
    """BLEU of both models for each number of passes, with the paper's 5 length candidates."""
    return DistillationResult(tuple(_row(study, passes) for passes in PASSES))


def _row(study: Study, passes: int) -> DistillationRow:
    settings = passes_and_candidates(passes)
    raw = study.bleu(lambda: study.translate("raw", settings))
    return DistillationRow(passes, raw, study.bleu(lambda: study.translate(MODEL, settings)))


def _table(result: DistillationResult) -> ResultTable:
    columns = (Column("passes T", key=True), Column("raw"), Column("distilled"))
    return ResultTable(columns, tuple((str(row.passes), row.raw, row.distilled) for row in result.rows))


def _draw(result: DistillationResult) -> Figure | None:
    if all(row.raw.value is None for row in result.rows):
        return None  # half a comparison is none
    figure, (axes,) = panels()
    for shift, name, color in ((-0.2, "raw", GREY), (0.2, "distilled", BLUE)):
        cells = [(place + shift, getattr(row, name).value) for place, row in enumerate(result.rows)]
        known = [(place, value) for place, value in cells if value is not None]
        bars = axes.bar([place for place, _ in known], [value for _, value in known], 0.38, color=color, label=name)
        axes.bar_label(bars, fmt="%.1f", padding=2)
    axes.set(title="BLEU", xticks=range(len(result.rows)), xticklabels=[f"T = {row.passes}" for row in result.rows])
    axes.grid(axis="x", visible=False)
    axes.margins(y=0.12)
    axes.legend(loc="upper left")
    return figure


ANALYSIS = Analysis(
    name="distillation",
    title="Raw and distilled training text",
    about="BLEU of the same model trained on the corpus and on its teacher's translations; 5 length candidates.",
    result=DistillationResult,
    run=distillation,
    table=_table,
    draw=_draw,
)
