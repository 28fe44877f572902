"""BLEU and length precision by number of length candidates (Table 5 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure

from maskpredict.evaluate.length_precision import length_precision
from maskpredict.paper.analysis import Analysis
from maskpredict.paper.cell import Cell, first_of, measured
from maskpredict.paper.plot import BLUE, GREY, ORANGE, panels, points
from maskpredict.paper.study import Study
from maskpredict.paper.table import Column, ResultTable
from maskpredict.paper.translations import TranslatedTestSet

CANDIDATES = range(1, 10)
PASSES = 10


@dataclass(frozen=True)
class CandidatesRow:
    """Results for one number of length candidates."""

    candidates: int
    bleu: Cell
    precision: Cell
    """Fraction of sentences, 0 to 1, whose reference length is among the candidates."""


@dataclass(frozen=True)
class LengthCandidates:
    """Results for every number of length candidates, and BLEU with the reference's length."""

    rows: tuple[CandidatesRow, ...]
    gold: Cell

    def bleu(self, candidates: int) -> Cell:
        """BLEU with this number of candidates."""
        return first_of((row.bleu for row in self.rows if row.candidates == candidates), f"l = {candidates}")


def length_candidates(study: Study) -> LengthCandidates:
    """BLEU and length precision with T = 10; lengths are counted in the model's subwords."""
    most_first = [_row(study, candidates) for candidates in reversed(CANDIDATES)]  # its drafts serve all others
    rows = tuple(reversed(most_first))
    return LengthCandidates(rows, study.bleu(lambda: study.mask_predict(PASSES, 1, gold_length=True)))


def _row(study: Study, candidates: int) -> CandidatesRow:
    def translate() -> TranslatedTestSet:
        study.require_length_head()
        return study.mask_predict(PASSES, candidates)

    def precision() -> float:
        return length_precision(translate().translations, study.target_ids())

    return CandidatesRow(candidates, study.bleu(translate), measured(precision))


def _table(result: LengthCandidates) -> ResultTable:
    columns = (
        Column("length candidates l", key=True),
        Column("BLEU"),
        Column("length precision", decimals=1, percent=True),
    )
    rows = tuple((str(row.candidates), row.bleu, row.precision) for row in result.rows)
    return ResultTable(columns, (*rows, ("the reference's length", result.gold, "")))


def _draw(result: LengthCandidates) -> Figure | None:
    figure, (left, right) = panels(2)
    left.plot(*points([(row.candidates, row.bleu) for row in result.rows]), "o-", color=BLUE, label="predicted lengths")
    if result.gold.value is not None:
        left.axhline(result.gold.value, color=GREY, linestyle="--", label="the reference's length")
    left.set(title="BLEU, T = 10", xlabel="length candidates l", xticks=CANDIDATES)
    left.legend()
    x, y = points([(row.candidates, row.precision) for row in result.rows])
    right.plot(x, [100 * share for share in y], "s-", color=ORANGE)
    right.set(title="right length among them, %", xlabel="length candidates l", xticks=CANDIDATES)
    right.set_ylim(0, 100)
    return figure


ANALYSIS = Analysis(
    name="length_candidates",
    title="Length candidates",
    about="BLEU with T = 10 by the number of lengths tried, and how often the reference's is among them.",
    result=LengthCandidates,
    run=length_candidates,
    table=_table,
    draw=_draw,
)
