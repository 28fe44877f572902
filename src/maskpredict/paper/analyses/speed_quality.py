"""Speed and quality (Figure 2 of the paper), in batches of 10 as in the paper, one by one, and in the best batch size.

Time is measured after a warm-up and without loading the model. The speed-up is the time of beam search with five beams
over the time of the system, measured in the same batches on the same machine. BLEU is that of the whole test set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
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
"""Length candidates in the two batch sizes that the paper does not have."""
BEAMS = (1, 5)
BUDGETS = {"cuda": (8_192, 32_768, 131_072), "cpu": (512, 2_048, 8_192)}
"""Batch sizes in tokens, of which the fastest is the best."""
ONE, TEN, BEST = "1", "10", "best"
MOST_DISORDER = 0.1
"""More passes may come out faster than fewer by this share; beyond it, times of a batch size are not shown."""
TIMED = {ONE: 200, TEN: 500, BEST: None}
"""Number of timed sentences by batch size; None: all."""


@dataclass(frozen=True)
class SpeedRow:
    """One system with one setting at one batch size."""

    batch: str
    """`1`, `10` or `best`."""
    beams: int | None
    """Beam size of the autoregressive model; None for mask-predict."""
    passes: int | None
    candidates: int | None
    sentences: int
    seconds: Cell
    bleu: Cell
    speedup: Cell
    """Speed-up over the autoregressive model with five beams at the same batch size."""
    batch_tokens: int | None = None
    """Best batch size in tokens."""

    @property
    def name(self) -> str:
        """Description of the setting."""
        if self.beams is not None:
            return f"autoregressive, b = {self.beams}"
        return f"mask-predict, T = {self.passes}, l = {self.candidates}"


@dataclass(frozen=True)
class SpeedQuality:
    """All systems, settings and batch sizes."""

    device: str
    rows: tuple[SpeedRow, ...]

    def beams(self, beams: int, batch: str = TEN) -> SpeedRow:
        """Row of the autoregressive model with this beam size."""
        return first_of((row for row in self.rows if (row.batch, row.beams) == (batch, beams)), f"b = {beams}")

    def mask_predict(self, passes: int, candidates: int, batch: str = TEN) -> SpeedRow:
        """Row of the analysed model with these settings."""
        wanted = (batch, passes, candidates)
        rows = (row for row in self.rows if (row.batch, row.passes, row.candidates) == wanted)
        return first_of(rows, f"T = {passes}, l = {candidates}")


def speed_quality(study: Study) -> SpeedQuality:
    """Time and BLEU of all settings in batches of 10, and of two length candidates in the other batch sizes."""
    rows: list[SpeedRow] = []
    for batch in (TEN, ONE, BEST):
        settings = [
            (None, passes, candidates)
            for candidates in CANDIDATES
            for passes in PASSES
            if batch == TEN or candidates == MIDDLE
        ]
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
            translated, tokens = self.fastest(role, settings)
        except UserError as error:
            empty = Cell(reason=str(error))
            return SpeedRow(self.batch, beams, passes, candidates, 0, empty, empty, empty)
        return SpeedRow(
            batch=self.batch,
            beams=beams,
            passes=passes,
            candidates=candidates,
            sentences=len(translated.sentences),
            seconds=Cell(round(_seconds(translated), 6)),
            bleu=self.study.bleu(lambda: self.study.translate(role, settings)),
            speedup=measured(lambda: self._speedup(translated)),
            batch_tokens=tokens,
        )

    def fastest(self, role: str, settings: dict[str, Any]) -> tuple[TranslatedTestSet, int | None]:
        """Translations at this batch size; for `best`, those at the fastest size in tokens, and that size."""
        if self.batch != BEST:
            options = {"first": TIMED[self.batch], "batch": int(self.batch), "batch_type": "examples"}
            return self.study.translate(role, settings, timed=True, **options), None
        tried = {
            budget: self.study.translate(role, settings, timed=True, batch=budget)
            for budget in self._budgets(role, settings)
        }
        budget = min(tried, key=lambda size: _seconds(tried[size]))
        return tried[budget], budget

    def _budgets(self, role: str, settings: dict[str, Any]) -> Sequence[int]:
        """Batch sizes of the device, or those that were already measured on another machine."""
        for budgets in BUDGETS.values():
            if all(self.study.has(role, settings, timed=True, batch=budget) for budget in budgets):
                return budgets
        device = self.study.models.translator(role).device.partition(":")[0]
        return BUDGETS.get(device, BUDGETS["cpu"])

    def _speedup(self, translated: TranslatedTestSet) -> Cell:
        baseline, _ = self.fastest(self.study.competitors.autoregressive, {"beam_size": max(BEAMS)})
        device, baseline_device = translated.environment.device, baseline.environment.device
        if device != baseline_device:
            raise UserError(f"it was timed on {device} and the autoregressive model on {baseline_device}.")
        return Cell(
            round(_seconds(baseline) / _seconds(translated), 4), _half_range(baseline.rounds, translated.rounds)
        )


def _half_range(baseline: Sequence[float], system: Sequence[float]) -> float | None:
    """Half the distance of the least and the greatest speed-up of any two rounds; None without several rounds."""
    if min(len(baseline), len(system)) < 2:
        return None
    return round((max(baseline) / min(system) - min(baseline) / max(system)) / 2, 4)


def _seconds(translated: TranslatedTestSet) -> float:
    assert translated.seconds is not None  # callers pass timed translations only
    return translated.seconds


def _device(study: Study) -> str:
    try:
        return _Timing(study, TEN).fastest(MODEL, passes_and_candidates(4, 1))[0].environment.device
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
    for panel, (batch, head) in zip(axes, heads.items(), strict=True):
        rows = [row for row in result.rows if row.batch == batch]
        if disorder(rows) <= MOST_DISORDER:
            _draw_batch(panel, rows)
        else:
            _draw_reason(panel, disorder(rows))
        sentences = max((row.sentences for row in rows), default=0)
        panel.set(title=f"{head}\n{sentences:,} sentences timed", xlabel="speed-up over b = 5")
    axes[0].set_ylabel("BLEU")
    handles, labels = axes[1].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=len(handles))
    return figure


def _draw_reason(axes: Axes, share: float) -> None:
    text = f"not shown:\nmore passes came out\nup to {share:.0%} faster\nthan fewer, so these\ntimes are noise"
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", fontsize=10)
    axes.set(xticks=[], yticks=[])


def _draw_batch(axes: Axes, rows: list[SpeedRow]) -> None:
    for candidates, color, marker in zip(CANDIDATES, (BLUE, GREEN, PURPLE), MARKERS, strict=False):
        if places := [place for row in rows if row.candidates == candidates and (place := _place(row))]:
            x, y = zip(*places, strict=True)
            axes.plot(x, y, marker=marker, linewidth=0.9, color=color, label=f"l = {candidates}")
    for beams, color, marker in zip(BEAMS, (ORANGE, RED), ("D", "*"), strict=True):
        place = next((_place(row) for row in rows if row.beams == beams), None)
        if place:
            size = 14 if marker == "*" else 8
            axes.plot(*place, marker, markersize=size, color=color, linestyle="none", label=f"b = {beams}")
    for row in rows:
        if row.speedup.plus_minus and (place := _place(row)):
            axes.errorbar(*place, xerr=row.speedup.plus_minus, color=GREY, linewidth=0.9, zorder=0)
    for passes, outermost in ((min(PASSES), max), (max(PASSES), min)):
        if places := [place for row in rows if row.passes == passes and (place := _place(row))]:
            at = outermost(places)
            axes.annotate(f"T={passes}", at, (-7, -5), textcoords="offset points", fontsize=9, ha="right")
    axes.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
    axes.margins(0.25, 0.1)


def disorder(rows: Sequence[SpeedRow]) -> float:
    """Largest share by which more passes came out faster than fewer, with as many candidates; 0 if they never did.

    Nothing but other load on the machine makes more passes faster.
    """
    speeds = [
        [row.speedup.value for row in rows if row.candidates == candidates and row.speedup.value is not None]
        for candidates in CANDIDATES
    ]
    ratios = [later / sooner for each in speeds for sooner, later in combinations(each, 2)]
    return max([1.0, *ratios]) - 1


def _place(row: SpeedRow) -> tuple[float, float] | None:
    if row.speedup.value is None or row.bleu.value is None:
        return None
    return row.speedup.value, row.bleu.value


def _note(result: SpeedQuality) -> str:
    sentences = [f"Timed on {result.device}."] if result.device else []
    for batch in (ONE, TEN, BEST):
        share = disorder([row for row in result.rows if row.batch == batch])
        if share > MOST_DISORDER:
            scatter = f"more passes came out up to {share:.0%} faster than fewer"
            sentences.append(f"The times of the batch size “{batch}” are noise: {scatter}.")
    return " ".join(sentences)


ANALYSIS = Analysis(
    name="speed_quality",
    title="Speed and quality",
    about="Time from the loaded model to the last sentence that is timed, against beam search with five beams "
    "in batches of the same size on the same machine; and BLEU of the whole test set.",
    result=SpeedQuality,
    run=speed_quality,
    table=_table,
    draw=_draw,
    note=_note,
)
