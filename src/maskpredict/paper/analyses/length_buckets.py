"""BLEU by length of the reference and number of passes (Table 4 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from matplotlib.figure import Figure

from maskpredict.errors import UserError
from maskpredict.evaluate.length_buckets import BOUNDS, bleu_by_length
from maskpredict.paper.analysis import Analysis
from maskpredict.paper.cell import Cell, FromSentences
from maskpredict.paper.compare_mt import write_compare_mt
from maskpredict.paper.plot import COLORS, panels
from maskpredict.paper.study import Study
from maskpredict.paper.table import Column, ResultTable

PASSES: tuple[int | str, ...] = (4, 10, "N")


@dataclass(frozen=True)
class BucketRow:
    """BLEU for references of one length range."""

    shortest: int
    below: int | None
    """Exclusive upper bound; None for the longest range."""
    sentences: int
    bleu: dict[str, Cell]
    """BLEU by number of passes."""

    @property
    def name(self) -> str:
        """The length range as a half-open interval."""
        return f"[{self.shortest}, {self.below or '∞'})"


@dataclass(frozen=True)
class LengthBuckets:
    """All length ranges, the shortest first."""

    rows: tuple[BucketRow, ...]


def length_buckets(study: Study) -> LengthBuckets:
    """BLEU of each length range with one length candidate; also writes the input files for compare-mt."""
    texts: dict[str, list[str]] = {}
    counted: dict[str, FromSentences] = {}
    reasons: dict[str, str] = {}
    for passes in map(str, PASSES):
        try:
            translated = study.mask_predict(int(passes) if passes.isdigit() else passes, 1)
            texts[passes], counted[passes] = translated.texts, study.counted(translated)
        except UserError as error:
            reasons[passes] = str(error)
    if texts:
        names = {f"T-{passes}": study.normalized(outputs) for passes, outputs in texts.items()}
        folder = study.texts / "compare-mt"
        write_compare_mt(folder, study.normalized(study.references), names, study.dataset.languages.target)
    return LengthBuckets(_rows(study, texts, counted, reasons))


def _rows(
    study: Study, texts: dict[str, list[str]], counted: dict[str, FromSentences], reasons: dict[str, str]
) -> tuple[BucketRow, ...]:
    buckets = {
        passes: bleu_by_length(
            study.normalized(outputs),
            study.normalized(study.references),
            target_language=study.dataset.languages.target,
        )
        for passes, outputs in texts.items()
    }
    rows = []
    for place, shortest in enumerate(BOUNDS):
        below = BOUNDS[place + 1] if place + 1 < len(BOUNDS) else None
        cells = {
            passes: _cell(lengths[place].bleu, replace(counted[passes], shortest=shortest, below=below))
            for passes, lengths in buckets.items()
        }
        cells |= {passes: Cell(reason=reason) for passes, reason in reasons.items()}
        sentences = next((lengths[place].sentences for lengths in buckets.values()), 0)
        rows.append(BucketRow(shortest, below, sentences, {str(passes): cells[str(passes)] for passes in PASSES}))
    return tuple(rows)


def _cell(bleu: float | None, counted: FromSentences) -> Cell:
    if bleu is None:
        return Cell(reason="no reference has such a length.")
    return Cell(round(bleu, 4), sentences=counted)


def _table(result: LengthBuckets) -> ResultTable:
    by_passes = (Column(f"T = {passes}", decimals=1) for passes in PASSES)
    columns = (Column("words N", key=True), Column("sentences"), *by_passes)
    return ResultTable(columns, tuple((row.name, f"{row.sentences:,}", *row.bleu.values()) for row in result.rows))


def _draw(result: LengthBuckets) -> Figure | None:
    figure, (axes,) = panels()
    width = 0.8 / len(PASSES)
    for order, passes in enumerate(map(str, PASSES)):
        shift = (order - (len(PASSES) - 1) / 2) * width
        known = [
            (place + shift, value)
            for place, row in enumerate(result.rows)
            if (value := row.bleu[passes].value) is not None
        ]
        x, y = [place for place, _ in known], [value for _, value in known]
        bars = axes.bar(x, y, 0.92 * width, color=COLORS[order], label=f"T = {passes}")
        axes.bar_label(bars, fmt="%.1f", padding=2, fontsize=9)
    labels = [f"{row.name}\n{row.sentences:,} sentences" for row in result.rows]
    axes.set(title="BLEU by words of the reference", xticks=range(len(result.rows)), xticklabels=labels)
    axes.set_xlim(-0.6, len(result.rows) - 0.4)
    axes.grid(axis="x", visible=False)
    axes.margins(y=0.22)
    axes.legend(ncols=len(PASSES), loc="upper left")
    return figure


ANALYSIS = Analysis(
    name="length_buckets",
    title="Short and long sentences",
    about="BLEU by the words of the reference, as BLEU counts them; one length candidate.",
    result=LengthBuckets,
    run=length_buckets,
    table=_table,
    draw=_draw,
)
