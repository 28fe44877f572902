"""Repeated subwords and words by number of passes (Table 3 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure

from maskpredict.evaluate.repetition import token_repetition, word_repetition
from maskpredict.paper.analysis import Analysis
from maskpredict.paper.cell import Cell, first_of, measured
from maskpredict.paper.end_mark import before_end_mark
from maskpredict.paper.plot import BLUE, GREEN, ORANGE, panels, points
from maskpredict.paper.study import Study
from maskpredict.paper.table import Column, ResultTable
from maskpredict.paper.translations import TranslatedTestSet

PASSES = (1, 2, 3, 4, 5, 10)


@dataclass(frozen=True)
class RepetitionRow:
    """BLEU and repetitions for one number of passes."""

    passes: int
    bleu: Cell
    subwords: Cell
    """Fraction of subwords that equal their left neighbour, 0 to 1."""
    words: Cell
    """Fraction of words that equal their left neighbour, 0 to 1."""


@dataclass(frozen=True)
class Repetitions:
    """BLEU and repetitions for every number of passes."""

    rows: tuple[RepetitionRow, ...]

    def row(self, passes: int) -> RepetitionRow:
        """Row for this number of passes."""
        return first_of((row for row in self.rows if row.passes == passes), f"T = {passes}")


def repetitions(study: Study) -> Repetitions:
    """BLEU and repetitions for each number of passes, with the paper's 5 length candidates."""
    return Repetitions(tuple(_row(study, passes) for passes in PASSES))


def _row(study: Study, passes: int) -> RepetitionRow:
    def translate() -> TranslatedTestSet:
        return study.mask_predict(passes)

    def repeated_subwords() -> Cell:
        translated = translate()
        share = token_repetition(before_end_mark(translation.tokens) for translation in translated.translations)
        return Cell(round(share, 4), sentences=study.counted(translated, measure="repeated"))

    return RepetitionRow(
        passes,
        study.bleu(translate),
        measured(repeated_subwords),
        measured(lambda: word_repetition(translate().texts)),
    )


def _table(result: Repetitions) -> ResultTable:
    columns = (
        Column("passes T", key=True),
        Column("BLEU"),
        Column("repeated subwords", percent=True),
        Column("repeated words", percent=True),
    )
    return ResultTable(columns, tuple((str(row.passes), row.bleu, row.subwords, row.words) for row in result.rows))


def _draw(result: Repetitions) -> Figure | None:
    figure, (left, right) = panels(2)
    left.plot(*points([(row.passes, row.bleu) for row in result.rows]), "o-", color=BLUE)
    left.set(title="BLEU", xlabel="passes T", xticks=PASSES)
    for name, marker, color in (("subwords", "s-", ORANGE), ("words", "^-", GREEN)):
        x, y = points([(row.passes, getattr(row, name)) for row in result.rows])
        right.plot(x, [100 * share for share in y], marker, color=color, label=name)
    right.set(title="repeated, %", xlabel="passes T", xticks=PASSES)
    right.set_ylim(bottom=0)
    right.legend()
    return figure


ANALYSIS = Analysis(
    name="repetitions",
    title="Repetitions by number of passes",
    about="Share of tokens that equal their left neighbour, and BLEU; 5 length candidates.",
    result=Repetitions,
    run=repetitions,
    table=_table,
    draw=_draw,
)
