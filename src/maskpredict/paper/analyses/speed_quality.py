"""Speed against quality (Figure 2 of the paper), in batches of 10 as there, one by one, and in the best batch.

A clock runs from the loaded model to the last sentence, after a warm-up. A speed-up is the time of beam search with
five beams over the time of the system, both measured here, in the same batches on the same machine. BLEU is that of the
whole test set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maskpredict.errors import UserError
from maskpredict.paper.analysis import Analysis
from maskpredict.paper.cell import Cell, first_of, measured
from maskpredict.paper.models import MODEL
from maskpredict.paper.plot import BLUE, GREEN, GREY, MARKERS, ORANGE, PURPLE, RED, panels
from maskpredict.paper.study import Study, passes_and_candidates
from maskpredict.paper.table import Column, ResultTable
from maskpredict.paper.translations import TranslatedTestSet

PASSES = range(4, 11)
CANDIDATES = (1, 2, 3)
MIDDLE = 2
"""Length candidates of the two batch sizes that the paper does not have."""
BEAMS = (1, 5)
BUDGETS = {"cuda": (8_192, 32_768, 131_072), "cpu": (512, 2_048, 8_192)}
"""Sizes, in tokens, among which the best batch is looked for."""
ONE, TEN, BEST = "1", "10", "best"
TIMED = {ONE: 200, TEN: 500, BEST: None}
"""Sentences that are timed; all of them one by one would take hours."""


@dataclass(frozen=True)
class SpeedRow:
    """One system with one setting, in batches of one size."""

    batch: str
    """1, 10 or best."""
    beams: int | None
    """Of the autoregressive model; None for mask-predict."""
    passes: int | None
    candidates: int | None
    sentences: int
    seconds: Cell
    bleu: Cell
    speedup: Cell
    """Against the autoregressive model with five beams in such batches."""
    batch_tokens: int | None = None
    """Size of the best batch."""

    @property
    def name(self) -> str:
        """The setting in words."""
        if self.beams is not None:
            return f"autoregressive, b = {self.beams}"
        return f"mask-predict, T = {self.passes}, l = {self.candidates}"


@dataclass(frozen=True)
class SpeedQuality:
    """All systems, settings and batch sizes."""

    device: str
    rows: tuple[SpeedRow, ...]

    def beams(self, beams: int, batch: str = TEN) -> SpeedRow:
        """The autoregressive model."""
        return first_of((row for row in self.rows if (row.batch, row.beams) == (batch, beams)), f"b = {beams}")

    def mask_predict(self, passes: int, candidates: int, batch: str = TEN) -> SpeedRow:
        """The model."""
        wanted = (batch, passes, candidates)
        rows = (row for row in self.rows if (row.batch, row.passes, row.candidates) == wanted)
        return first_of(rows, f"T = {passes}, l = {candidates}")


def speed_quality(study: Study) -> SpeedQuality:
    """Time and BLEU of all settings in batches of 10; of two length candidates in the other sizes."""
    rows: list[SpeedRow] = []
    for batch in (TEN, ONE, BEST):
        settings = [(None, passes, few) for few in CANDIDATES for passes in PASSES if batch == TEN or few == MIDDLE]
        timed = _Timing(study, batch)
        rows += [timed.row(beams, None, None) for beams in BEAMS]
        rows += [timed.row(*setting) for setting in settings]
    return SpeedQuality(_device(study), tuple(rows))


@dataclass(frozen=True)
class _Timing:
    study: Study
    batch: str

    def row(self, beams: int | None, passes: int | None, candidates: int | None) -> SpeedRow:
        role = MODEL if beams is None else self.study.competitors.autoregressive
        settings = {"beam_size": beams} if beams else passes_and_candidates(passes or 0, candidates or 0)
        try:
            found, tokens = self.fastest(role, settings)
        except UserError as error:
            empty = Cell(reason=str(error))
            return SpeedRow(self.batch, beams, passes, candidates, 0, empty, empty, empty)
        return SpeedRow(
            batch=self.batch,
            beams=beams,
            passes=passes,
            candidates=candidates,
            sentences=len(found.sentences),
            seconds=Cell(round(_seconds(found), 6)),
            bleu=self.study.bleu(lambda: self.study.translate(role, settings)),
            speedup=measured(lambda: self._speedup(found)),
            batch_tokens=tokens,
        )

    def fastest(self, role: str, settings: dict[str, Any]) -> tuple[TranslatedTestSet, int | None]:
        """The translations in such batches; with `best`, those of the fastest size, and that size."""
        if self.batch != BEST:
            order = {"first": TIMED[self.batch], "batch": int(self.batch), "batch_type": "examples"}
            return self.study.translate(role, settings, timed=True, **order), None
        tried = {
            budget: self.study.translate(role, settings, timed=True, batch=budget)
            for budget in self._budgets(role, settings)
        }
        budget = min(tried, key=lambda size: _seconds(tried[size]))
        return tried[budget], budget

    def _budgets(self, role: str, settings: dict[str, Any]) -> Sequence[int]:
        """Those of the device, or those that were tried elsewhere already."""
        for budgets in BUDGETS.values():
            if all(self.study.has(role, settings, timed=True, batch=budget) for budget in budgets):
                return budgets
        device = self.study.models.translator(role).device.type
        return BUDGETS.get(device, BUDGETS["cpu"])

    def _speedup(self, found: TranslatedTestSet) -> float:
        baseline, _ = self.fastest(self.study.competitors.autoregressive, {"beam_size": max(BEAMS)})
        own, other = found.machine.device, baseline.machine.device
        if own != other:
            raise UserError(f"it was timed on {own} and the autoregressive model on {other}.")
        return _seconds(baseline) / _seconds(found)


def _seconds(found: TranslatedTestSet) -> float:
    assert found.seconds is not None  # only timed translations come here
    return found.seconds


def _device(study: Study) -> str:
    try:
        return _Timing(study, TEN).fastest(MODEL, passes_and_candidates(4, 1))[0].machine.device
    except UserError:
        return ""


def _table(result: SpeedQuality) -> ResultTable:
    columns = (
        Column("batch", key=True),
        Column("system", key=True),
        Column("sentences timed"),
        Column("seconds"),
        Column("speed-up"),
        Column("BLEU"),
    )
    rows = (
        (_batch_name(row), row.name, f"{row.sentences:,}", row.seconds, row.speedup, row.bleu) for row in result.rows
    )
    return ResultTable(columns, tuple(rows))


def _batch_name(row: SpeedRow) -> str:
    return f"best ({row.batch_tokens:,} tokens)" if row.batch_tokens else row.batch


def _draw(result: SpeedQuality) -> Figure | None:
    figure, axes = panels(3, height=4.2)
    heads = {ONE: "one by one", TEN: "batches of 10", BEST: "best batch"}
    for own, (batch, head) in zip(axes, heads.items(), strict=True):
        rows = [row for row in result.rows if row.batch == batch]
        _draw_batch(own, rows)
        sentences = max((row.sentences for row in rows), default=0)
        own.set(title=f"{head}\n{sentences:,} sentences timed", xlabel="speed-up over b = 5")
    axes[0].set_ylabel("BLEU")
    handles, labels = axes[1].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=len(handles))
    return figure


def _draw_batch(axes: Axes, rows: list[SpeedRow]) -> None:
    for candidates, color, marker in zip(CANDIDATES, (BLUE, GREEN, PURPLE), MARKERS, strict=False):
        if own := [place for row in rows if row.candidates == candidates and (place := _place(row))]:
            x, y = zip(*own, strict=True)
            axes.plot(x, y, marker=marker, linewidth=0.9, color=color, label=f"l = {candidates}")
    for beams, color, marker in zip(BEAMS, (ORANGE, RED), ("D", "*"), strict=True):
        place = next((_place(row) for row in rows if row.beams == beams), None)
        if place:
            size = 14 if marker == "*" else 8
            axes.plot(*place, marker, markersize=size, color=color, linestyle="none", label=f"b = {beams}")
    for passes, outermost in ((min(PASSES), max), (max(PASSES), min)):
        if places := [place for row in rows if row.passes == passes and (place := _place(row))]:
            at = outermost(places)
            axes.annotate(f"T={passes}", at, (-7, -5), textcoords="offset points", fontsize=9, ha="right")
    axes.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
    axes.margins(0.25, 0.1)


def _place(row: SpeedRow) -> tuple[float, float] | None:
    if row.speedup.value is None or row.bleu.value is None:
        return None
    return row.speedup.value, row.bleu.value


ANALYSIS = Analysis(
    name="speed_quality",
    title="Speed and quality",
    about="Time from the loaded model to the last sentence that is timed, against beam search with five beams "
    "in batches of the same size on the same machine; and BLEU of the whole test set.",
    result=SpeedQuality,
    run=speed_quality,
    table=_table,
    draw=_draw,
    note=lambda result: f"Timed on {result.device}." if result.device else "",
)
