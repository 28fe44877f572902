"""Calibration: accuracy of subwords by the probability that the model gave them.

A subword is right if it belongs to a longest common subsequence of the translation and the reference. A good word that
the reference does not contain counts as wrong, so even a perfect translator looks overconfident. Compare models and
numbers of passes with each other, not only with the diagonal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from maskpredict.errors import UserError
from maskpredict.paper.analysis import Analysis
from maskpredict.paper.cell import Cell
from maskpredict.paper.end_mark import before_end_mark
from maskpredict.paper.models import MODEL
from maskpredict.paper.plot import COLORS, GREY, MARKERS, panels
from maskpredict.paper.study import Study
from maskpredict.paper.table import Column, ResultTable

PASSES = (1, 4, 10)
BINS = 10


@dataclass(frozen=True)
class Bin:
    """Subwords of one confidence range."""

    tokens: int
    confidence: float
    """Mean confidence, 0 to 1."""
    accuracy: float
    """Fraction of right subwords, 0 to 1."""


@dataclass(frozen=True)
class CalibrationRow:
    """Calibration for one number of passes."""

    passes: int
    error: Cell
    """Expected calibration error: mean distance of confidence and accuracy over bins, weighted by subwords."""
    confidence: Cell
    accuracy: Cell
    bins: tuple[Bin, ...] = ()
    """Non-empty bins, the least confident first."""


@dataclass(frozen=True)
class Calibration:
    """Calibration for every number of passes."""

    rows: tuple[CalibrationRow, ...]


def calibration(study: Study) -> Calibration:
    """Confidence and accuracy of subwords, with one length candidate."""
    return Calibration(tuple(_row(study, passes) for passes in PASSES))


def _row(study: Study, passes: int) -> CalibrationRow:
    try:
        judged = _judged_tokens(study, passes)
    except UserError as error:
        empty = Cell(reason=str(error))
        return CalibrationRow(passes, empty, empty, empty)
    if not judged:
        empty = Cell(reason="the translations are empty.")
        return CalibrationRow(passes, empty, empty, empty)
    bins = binned(judged)
    confidence = sum(probability for probability, _ in judged) / len(judged)
    accuracy = sum(right for _, right in judged) / len(judged)
    return CalibrationRow(
        passes,
        Cell(round(calibration_error(bins), 4)),
        Cell(round(confidence, 4)),
        Cell(round(accuracy, 4)),
        tuple(bins),
    )


def _judged_tokens(study: Study, passes: int) -> list[tuple[float, bool]]:
    """Probability of each subword, and True if it is right."""
    pieces = study.models.translator(MODEL).tokenizers.target.pieces
    judged: list[tuple[float, bool]] = []
    for translation, reference in zip(study.mask_predict(passes, 1).translations, study.target_ids(), strict=True):
        tokens = before_end_mark(translation.tokens)
        right = common_subsequence_mask(tokens, pieces(reference))
        judged += [
            (math.exp(log_prob), is_right) for log_prob, is_right in zip(translation.log_probs, right, strict=False)
        ]
    return judged


def common_subsequence_mask(tokens: Sequence[str], reference: Sequence[str]) -> list[bool]:
    """True for the tokens of a longest common subsequence with the reference; deterministic if there are several."""
    longest = [[0] * (len(reference) + 1) for _ in range(len(tokens) + 1)]
    for i, token in enumerate(tokens):
        for j, other in enumerate(reference):
            longest[i + 1][j + 1] = longest[i][j] + 1 if token == other else max(longest[i][j + 1], longest[i + 1][j])
    right, i, j = [False] * len(tokens), len(tokens), len(reference)
    while i and j:
        if tokens[i - 1] == reference[j - 1]:
            right[i - 1] = True
            i, j = i - 1, j - 1
        elif longest[i - 1][j] >= longest[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return right


def binned(judged: Sequence[tuple[float, bool]], bins: int = BINS) -> list[Bin]:
    """Non-empty bins of equal width over the confidence."""
    groups: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for confidence, right in judged:
        groups[min(int(confidence * bins), bins - 1)].append((confidence, right))
    return [
        Bin(
            len(group), round(sum(c for c, _ in group) / len(group), 6), round(sum(r for _, r in group) / len(group), 6)
        )
        for group in groups
        if group
    ]


def calibration_error(bins: Sequence[Bin]) -> float:
    """Expected calibration error, 0 to 1."""
    tokens = sum(group.tokens for group in bins)
    return sum(group.tokens * abs(group.accuracy - group.confidence) for group in bins) / tokens


def _table(result: Calibration) -> ResultTable:
    names = ("mean confidence", "right", "expected calibration error")
    columns = (Column("passes T"), *(Column(name, decimals=1, percent=True) for name in names))
    return ResultTable(
        columns, tuple((str(row.passes), row.confidence, row.accuracy, row.error) for row in result.rows)
    )


def _draw(result: Calibration) -> Figure | None:
    figure, (left, right) = panels(2, height=4.2)
    left.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1)
    for row, color, marker in zip(result.rows, COLORS, MARKERS, strict=False):
        if row.bins:
            confidence = [group.confidence for group in row.bins]
            label = f"T = {row.passes}, ECE {row.error.value:.1%}"
            left.plot(confidence, [group.accuracy for group in row.bins], color=color, marker=marker, label=label)
            tokens = sum(group.tokens for group in row.bins)
            right.plot(confidence, [100 * group.tokens / tokens for group in row.bins], color=color, marker=marker)
    left.set(title="share of right subwords", xlabel="confidence", xlim=(0, 1), ylim=(0, 1))
    right.set(title="share of all subwords, %", xlabel="confidence", xlim=(0, 1))
    right.set_ylim(bottom=0)
    if any(row.bins for row in result.rows):
        left.legend(loc="upper left", fontsize=10)
    return figure


ANALYSIS = Analysis(
    name="calibration",
    title="Calibration of confidences",
    about="How often subwords are right, by the probability that the model gave them: right are those of a longest "
    "common subsequence with the reference, so good words that it does not have count as wrong. One length candidate.",
    result=Calibration,
    run=calibration,
    table=_table,
    draw=_draw,
)
