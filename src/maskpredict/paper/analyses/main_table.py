"""BLEU of every system (Tables 1 and 2 of the paper)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from maskpredict.evaluate.scores import RESAMPLES
from maskpredict.paper.analysis import Analysis
from maskpredict.paper.cell import Cell, first_of
from maskpredict.paper.models import MODEL, title
from maskpredict.paper.study import Study, passes_and_candidates
from maskpredict.paper.table import Column, ResultTable
from maskpredict.paper.translations import TranslatedTestSet

PASSES = (1, 4, 10)
TEACHER = "teacher"
SAMPLES = 10
"""Fertilities that are drawn for the teacher to choose from, as many as Gu et al.'s smaller number."""
FEW = 2
"""Length candidates of the paper's comparison with beam search in speed (Figure 2)."""
MOST_REFINEMENTS = 20
"""Passes after which refinement ends, stable or not."""


@dataclass(frozen=True)
class SystemRow:
    """BLEU of one system with one setting."""

    key: str
    """Role and setting; key of the paper's number."""
    system: str
    dimensions: str
    """Width of the model and of its feed-forward layers."""
    passes: str
    """Decoder passes; N is one for each subword."""
    settings: dict[str, Any]
    bleu: Cell
    mean_passes: float | None = None
    """Mean number of passes of a sentence, where the setting leaves it open."""
    judge: str = ""
    """Role of the model that chose between translations."""
    parameters: int | None = None
    start: str = ""
    """Initial weights in training, as in `TrainingRecord`; empty if that is not known."""
    target_tokens: int | None = None
    """Target tokens seen in training; None if that is not known."""


@dataclass(frozen=True)
class MainTable:
    """BLEU of all systems."""

    rows: tuple[SystemRow, ...]

    def bleu(self, key: str) -> Cell:
        """BLEU of the row with this key."""
        return first_of((row.bleu for row in self.rows if row.key == key), key)


@dataclass(frozen=True)
class _Entry:
    role: str
    setting: str
    passes: str
    settings: dict[str, Any] = field(default_factory=dict)
    variant: str = ""
    """What to add to the system's name."""
    judge: str = ""


def main_table(study: Study) -> MainTable:
    """BLEU with confidence interval of each system; the row of a missing system has the reason instead."""
    return MainTable(tuple(_row(study, entry) for entry in _entries(study)))


def _entries(study: Study) -> list[_Entry]:
    def mask_predict(role: str) -> list[_Entry]:
        return [_Entry(role, str(passes), str(passes), passes_and_candidates(passes)) for passes in PASSES]

    def beams(role: str, *sizes: int) -> list[_Entry]:
        return [_Entry(role, f"b{size}", "N", {"beam_size": size}) for size in sizes]

    def chosen_by_teacher(role: str, settings: dict[str, Any]) -> _Entry:
        return _Entry(role, "1-rescored", "1", settings, ", rescored by the teacher", TEACHER)

    def few_candidates(passes: int) -> _Entry:
        return _Entry(MODEL, f"{passes}.l{FEW}", str(passes), passes_and_candidates(passes, FEW), f", l = {FEW}")

    until_stable = {"iterations": MOST_REFINEMENTS, "stop_when_stable": True}
    # One length, since five with N passes would take longer than all other rows of the table together.
    one_by_one = {"strategy": "random_order", "length_candidates": 1}
    reference = study.competitors.autoregressive
    return [
        _Entry("fertility", "1", "1"),
        _Entry("fertility", "average", "1", {"fertilities": "average"}, ", average"),
        chosen_by_teacher("fertility", {"fertilities": "sample", "samples": SAMPLES}),
        _Entry("ctc", "1", "1"),
        *(_Entry("refinement", str(passes), str(passes), {"iterations": passes}) for passes in (1, 10)),
        _Entry("refinement", "dynamic", "until stable", until_stable),
        _Entry("insertion", "parallel", "log N", {"insertions": "parallel"}, ", parallel"),
        _Entry("insertion", "greedy", "N + 1", {"insertions": "greedy"}, ", greedy"),
        *mask_predict("small"),
        *mask_predict(MODEL),
        *(few_candidates(passes) for passes in PASSES[1:]),
        chosen_by_teacher(MODEL, passes_and_candidates(1)),
        _Entry(MODEL, "random", "N", one_by_one, ", random order, l = 1"),
        *([_Entry(MODEL, "folder", "as its folder says")] if study.recommends_decoding else []),
        *beams(reference, 1, 5),
        *(beams("teacher", 5) if reference != "teacher" else []),
        *beams("ar_distilled", 5),
        *(_Entry(role, "default", "") for role in study.competitors.others()),
    ]


def _row(study: Study, entry: _Entry) -> SystemRow:
    # Without a baseline of its own, the teacher takes the place of the paper's baseline.
    role = "baseline" if entry.role == study.competitors.autoregressive else entry.role

    def translate() -> TranslatedTestSet:
        return study.translate(entry.role, entry.settings, judge=entry.judge)

    bleu = study.bleu(translate, confidence=RESAMPLES)
    counted = bleu.value is not None and not entry.passes.isdigit()
    training = study.models.training(entry.role)
    return SystemRow(
        key=f"{role}.{entry.setting}",
        system=title(role) + _beam(entry.settings) + entry.variant,
        dimensions=study.models.dimensions(entry.role),
        passes=entry.passes,
        settings=entry.settings,
        bleu=bleu,
        mean_passes=round(fmean(one.passes for one in translate().translations), 2) if counted else None,
        judge=entry.judge,
        parameters=study.models.parameters(entry.role),
        start=training.start if training else "",
        target_tokens=training.target_tokens if training else None,
    )


def _beam(settings: dict[str, Any]) -> str:
    return f", b = {settings['beam_size']}" if "beam_size" in settings else ""


def _table(result: MainTable) -> ResultTable:
    fixed = (Column("system", key=True), Column("dimensions"), Column("passes", key=True), Column("BLEU"))
    open_columns = [column for column in _OPEN_COLUMNS if any(column.entry(row) for row in result.rows)]
    return ResultTable(
        (*fixed, *(Column(column.title) for column in open_columns)),
        tuple(
            (row.system, row.dimensions, row.passes, row.bleu, *(column.entry(row) for column in open_columns))
            for row in result.rows
        ),
    )


@dataclass(frozen=True)
class _OpenColumn:
    """A column that is shown if any row has an entry in it: older results have none."""

    title: str
    entry: Callable[[SystemRow], str]


def _millions(count: int | None) -> str:
    return "" if count is None else f"{count / 1e6:,.1f} M"


def _or_not_recorded(row: SystemRow, text: str) -> str:
    """The text; of a model whose folder does not say it, that it is not recorded."""
    return text or ("" if row.parameters is None else "not recorded")


_OPEN_COLUMNS = (
    _OpenColumn("mean passes", lambda row: "" if row.mean_passes is None else f"{row.mean_passes:.1f}"),
    _OpenColumn("parameters", lambda row: _millions(row.parameters)),
    _OpenColumn("start", lambda row: _or_not_recorded(row, row.start)),
    _OpenColumn("target tokens", lambda row: _or_not_recorded(row, _millions(row.target_tokens))),
)


ANALYSIS = Analysis(
    name="main_table",
    title="Translation quality",
    about="BLEU of every system. Mask-predict has 5 length candidates where its row names no other number l. "
    "± is half the 95% confidence interval.",
    result=MainTable,
    run=main_table,
    table=_table,
)
