"""BLEU of every system (Tables 1 and 2 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from maskpredict.evaluate.scores import RESAMPLES
from maskpredict.paper.analysis import Analysis
from maskpredict.paper.cell import Cell, first_of
from maskpredict.paper.models import MODEL, title
from maskpredict.paper.study import Study, passes_and_candidates
from maskpredict.paper.table import Column, ResultTable

PASSES = (1, 4, 10)


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


def main_table(study: Study) -> MainTable:
    """BLEU with confidence interval of each system; the row of a missing system has the reason instead."""
    return MainTable(tuple(_row(study, entry) for entry in _entries(study)))


def _entries(study: Study) -> list[_Entry]:
    def mask_predict(role: str) -> list[_Entry]:
        return [_Entry(role, str(passes), str(passes), passes_and_candidates(passes)) for passes in PASSES]

    def beams(role: str, *sizes: int) -> list[_Entry]:
        return [_Entry(role, f"b{size}", "N", {"beam_size": size}) for size in sizes]

    until_stable = {"iterations": 10, "stop_when_stable": True}
    reference = study.competitors.autoregressive
    return [
        _Entry("fertility", "1", "1"),
        _Entry("ctc", "1", "1"),
        *(_Entry("refinement", str(passes), str(passes), {"iterations": passes}) for passes in (1, 10)),
        _Entry("refinement", "dynamic", "until stable", until_stable),
        *mask_predict("small"),
        *mask_predict(MODEL),
        *([_Entry(MODEL, "folder", "as its folder says")] if study.recommends_decoding else []),
        *beams(reference, 1, 5),
        *(beams("teacher", 5) if reference != "teacher" else []),
        *beams("ar_distilled", 5),
        *(_Entry(role, "default", "") for role in study.competitors.others()),
    ]


def _row(study: Study, entry: _Entry) -> SystemRow:
    # Without a baseline of its own, the teacher takes the place of the paper's baseline.
    role = "baseline" if entry.role == study.competitors.autoregressive else entry.role
    return SystemRow(
        key=f"{role}.{entry.setting}",
        system=title(role) + _beam(entry.settings),
        dimensions=study.models.dimensions(entry.role),
        passes=entry.passes,
        settings=entry.settings,
        bleu=study.bleu(lambda: study.translate(entry.role, entry.settings), confidence=RESAMPLES),
    )


def _beam(settings: dict[str, Any]) -> str:
    return f", b = {settings['beam_size']}" if "beam_size" in settings else ""


def _table(result: MainTable) -> ResultTable:
    columns = (Column("system", key=True), Column("dimensions"), Column("passes", key=True), Column("BLEU"))
    return ResultTable(columns, tuple((row.system, row.dimensions, row.passes, row.bleu) for row in result.rows))


ANALYSIS = Analysis(
    name="main_table",
    title="Translation quality",
    about="BLEU of every system. Mask-predict has 5 length candidates. ± is half the 95% confidence interval.",
    result=MainTable,
    run=main_table,
    table=_table,
)
