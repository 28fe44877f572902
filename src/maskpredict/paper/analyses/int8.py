"""Quantization to int8 on a CPU: BLEU, time, and the fraction of unchanged translations."""

from __future__ import annotations

from dataclasses import dataclass

from maskpredict.paper.analysis import Analysis
from maskpredict.paper.cell import Cell, measured
from maskpredict.paper.study import Study
from maskpredict.paper.table import Column, ResultTable
from maskpredict.paper.translations import TranslatedTestSet

PASSES = (4, 10)
SENTENCES = 200
"""Sentences translated: few, since a CPU is slow."""
FULL, SMALL = "float32", "int8"


@dataclass(frozen=True)
class Int8Row:
    """Both compute types for one number of passes."""

    passes: int
    full_bleu: Cell
    int8_bleu: Cell
    full_seconds: Cell
    int8_seconds: Cell
    same: Cell
    """Fraction of identical translations, 0 to 1."""


@dataclass(frozen=True)
class Int8Cost:
    """Both compute types for every number of passes."""

    sentences: int
    rows: tuple[Int8Row, ...]


def int8_cost(study: Study) -> Int8Cost:
    """Translate the first sentences on a CPU in float32 and int8, with one length candidate."""
    rows = tuple(_row(study, passes) for passes in PASSES)
    counted = measured(lambda: min(SENTENCES, len(study.references))).value
    return Int8Cost(int(counted or 0), rows)


def _row(study: Study, passes: int) -> Int8Row:
    def translate(compute_type: str) -> TranslatedTestSet:
        return study.mask_predict(passes, 1, first=SENTENCES, timed=True, device="cpu", compute_type=compute_type)

    def seconds(compute_type: str) -> float:
        return translate(compute_type).seconds or 0.0

    def same() -> float:
        pairs = list(zip(translate(FULL).texts, translate(SMALL).texts, strict=True))
        return sum(full == small for full, small in pairs) / len(pairs)

    return Int8Row(
        passes,
        study.bleu(lambda: translate(FULL)),
        study.bleu(lambda: translate(SMALL)),
        measured(lambda: seconds(FULL)),
        measured(lambda: seconds(SMALL)),
        measured(same),
    )


def _table(result: Int8Cost) -> ResultTable:
    columns = (
        Column("passes T"),
        Column("BLEU, float32"),
        Column("BLEU, int8"),
        Column("seconds, float32", decimals=1),
        Column("seconds, int8", decimals=1),
        Column("same translations", decimals=1, percent=True),
    )
    return ResultTable(
        columns,
        tuple(
            (str(row.passes), row.full_bleu, row.int8_bleu, row.full_seconds, row.int8_seconds, row.same)
            for row in result.rows
        ),
    )


ANALYSIS = Analysis(
    name="int8",
    title="The cost of int8",
    about="BLEU and time on a CPU with weights of 32 and of 8 bits, one length candidate.",
    result=Int8Cost,
    run=int8_cost,
    table=_table,
    note=lambda result: f"Measured on the first {result.sentences} sentences.",
)
