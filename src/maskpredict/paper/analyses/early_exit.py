"""Early exit: mean passes and BLEU with a fixed number of passes, until stable, and with confidence thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from maskpredict.errors import UserError
from maskpredict.paper.analysis import Analysis
from maskpredict.paper.cell import Cell, measured
from maskpredict.paper.models import MODEL
from maskpredict.paper.plot import BLUE, ORANGE, RED, panels
from maskpredict.paper.study import Study, passes_and_candidates
from maskpredict.paper.table import Column, ResultTable
from maskpredict.paper.translations import TranslatedTestSet

MOST = 10
"""Maximum number of passes."""
FIXED = (1, 2, 3, 4, 5, 6, 8, MOST)
THRESHOLDS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9)
FIXED_RULE, STABLE_RULE, THRESHOLD_RULE = "fixed", "stable", "threshold"


@dataclass(frozen=True)
class ExitRow:
    """One exit rule."""

    rule: str
    """`fixed`, `stable` or `threshold`."""
    value: float | None
    """Number of passes of `fixed`; threshold of `threshold`."""
    passes: Cell
    """Mean number of passes over sentences."""
    bleu: Cell

    @property
    def name(self) -> str:
        """Description of the rule."""
        if self.rule == STABLE_RULE:
            return f"T = {MOST}, until a pass changes nothing"
        if self.rule == THRESHOLD_RULE:
            return f"T = {MOST}, threshold {self.value:g}"
        return f"T = {self.value:g}"


@dataclass(frozen=True)
class EarlyExit:
    """All exit rules."""

    rows: tuple[ExitRow, ...]


def early_exit(study: Study) -> EarlyExit:
    """Mean passes and BLEU of each rule, with one length candidate."""
    most = passes_and_candidates(MOST, 1)
    rows = [_row(study, FIXED_RULE, passes, passes_and_candidates(passes, 1)) for passes in FIXED]
    rows += [_row(study, STABLE_RULE, None, {**most, "stop_when_stable": True})]
    rows += [_row(study, THRESHOLD_RULE, value, {**most, "threshold": value}) for value in THRESHOLDS]
    return EarlyExit(tuple(rows))


def _row(study: Study, rule: str, value: float | None, settings: dict[str, Any]) -> ExitRow:
    def translate() -> TranslatedTestSet:
        return study.translate(MODEL, settings)

    return ExitRow(rule, value, measured(lambda: _mean_passes(translate())), study.bleu(translate))


def _mean_passes(translated: TranslatedTestSet) -> float:
    translations = [translation for translation in translated.translations if translation.passes]
    if not translations:
        raise UserError("no sentence was translated.")
    return sum(translation.passes for translation in translations) / len(translations)


def _table(result: EarlyExit) -> ResultTable:
    columns = (Column("passes end"), Column("mean passes"), Column("BLEU"))
    return ResultTable(columns, tuple((row.name, row.passes, row.bleu) for row in result.rows))


def _draw(result: EarlyExit) -> Figure | None:
    figure, (axes,) = panels(height=4.2)
    looks = (
        (FIXED_RULE, "o-", BLUE, "fixed T"),
        (THRESHOLD_RULE, "s--", ORANGE, "threshold"),
        (STABLE_RULE, "*", RED, "until nothing changes"),
    )
    for rule, look, color, label in looks:
        rows = [row for row in result.rows if row.rule == rule and row.passes.value is not None and row.bleu.value]
        x, y = [row.passes.value or 0.0 for row in rows], [row.bleu.value or 0.0 for row in rows]
        if rows:
            axes.plot(x, y, look, color=color, label=label, markersize=13 if rule == STABLE_RULE else 6.5)
        if rule == THRESHOLD_RULE:
            for row, place in zip(rows, zip(x, y, strict=True), strict=True):
                axes.annotate(f"{row.value:g}", place, textcoords="offset points", xytext=(4, -13), fontsize=9)
    axes.set(title="BLEU", xlabel="mean passes", xticks=range(MOST + 1))
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="lower right")
    return figure


ANALYSIS = Analysis(
    name="early_exit",
    title="Ending early",
    about="Mean passes and BLEU when a sentence may end before T = 10: as soon as a pass changes nothing, or by "
    "never masking again what is surer than a threshold. One length candidate.",
    result=EarlyExit,
    run=early_exit,
    table=_table,
    draw=_draw,
)
