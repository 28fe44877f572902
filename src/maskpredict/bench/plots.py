"""Figures of a race: latency of single sentences against BLEU, and throughput against batch size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from maskpredict.bench.comparison import in_main_type
from maskpredict.bench.labels import Label, write_labels
from maskpredict.bench.race_result import RaceResult
from maskpredict.bench.racer_result import RacerResult
from maskpredict.bench.racers.base import FULL_PRECISION, Entry

# The palette of Okabe and Ito for colour-blind readers; markers differ too.
COLOURS = {
    "mask-predict": "#0072B2",
    "mask-predict shallow": "#E69F00",
    "one pass": "#56B4E9",
    "autoregressive": "#D55E00",
    "CTranslate2": "#009E73",
    "CTranslate2 rival": "#CC79A7",
    "transformers": "#7F7F7F",
    "alignment": "#000000",
    "teacher from outside": "#A6761D",
}
MARKERS = dict(zip(COLOURS, "oXPs^vD*h", strict=True))
LINES = ("-", "--", ":", "-.", (0, (1, 3)))
"""Line styles of the decoding settings of one engine."""
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "grid.color": "#e8e8e8",
    "legend.frameon": False,
    "svg.hashsalt": "maskpredict",
}
LINE_OF_TEXT = 0.045
"""Height of a label as a fraction of the figure."""


def draw(result: RaceResult, folder: Path) -> list[Path]:
    """Write the latency and throughput figures as PNG and SVG, without empty ones."""
    written = []
    with mpl.rc_context(STYLE):
        for name, figure in (("latency", _latency(result)), ("throughput", _throughput(result))):
            for suffix in ("png", "svg") if figure else ():
                written.append(folder / f"{name}.{suffix}")
                assert figure is not None
                # Without the date, equal results give equal files.
                figure.savefig(written[-1], dpi=150, metadata={"Date": None} if suffix == "svg" else None)
    return written


def _latency(result: RaceResult) -> Figure | None:
    """One point per racer, with an error bar for the quartiles of its time."""
    racers = [racer for racer in result.racers if racer.at(1)]
    if not racers:
        return None
    figure, axes = _figure(f"One sentence at a time ({result.workload.mean_subwords:g} subwords on average)")
    main = in_main_type([racer.entry for racer in racers])
    labels, points = [], []
    for racer in sorted(racers, key=lambda racer: -racer.score.bleu):
        alone, engine = racer.at(1), racer.entry.engine
        assert alone is not None
        time, bleu = alone.milliseconds, racer.score.bleu
        axes.errorbar(
            time.median,
            bleu,
            xerr=[[time.median - time.low], [time.high - time.median]],
            color=COLOURS[engine],
            marker=MARKERS[engine],
            markerfacecolor=_fill(racer.entry),
            linestyle="none",
        )
        points.append((time.median, bleu))
        if racer.entry in main:
            labels.append(Label(racer.entry.settings, time.median, bleu, COLOURS[engine]))
    axes.set_xscale("log")
    _plain_numbers(axes.xaxis)
    axes.margins(0.08, 0.15)
    axes.set_xlabel("milliseconds a sentence")
    axes.set_ylabel(f"BLEU on {result.workload.scored} sentences")
    axes.legend(handles=_legend(racers), loc="center left", bbox_to_anchor=(1, 0.5), fontsize=9)
    write_labels(axes, labels, points)
    return figure


def _throughput(result: RaceResult) -> Figure | None:
    """One line per racer in its main compute type, with the first cross-over marked."""
    main = in_main_type([racer.entry for racer in result.racers])
    racers = [racer for racer in result.racers if racer.entry in main and len(racer.sizes) > 1]
    if not racers:
        return None
    figure, axes = _figure("Sentences a second, by batch size")
    engines = [racer.entry.engine for racer in racers]
    for place, racer in enumerate(racers):
        engine = racer.entry.engine
        axes.plot(
            [size.batch_size for size in racer.sizes],
            [size.sentences_per_second for size in racer.sizes],
            color=COLOURS[engine],
            marker=MARKERS[engine],
            markersize=4,
            linestyle=LINES[engines[:place].count(engine) % len(LINES)],
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    sizes = sorted({size.batch_size for racer in racers for size in racer.sizes})
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    _plain_numbers(axes.yaxis)
    axes.set_xlabel("batch size")
    _label_ends(axes, racers)
    _mark_cross_over(axes, result, racers)
    return figure


def _figure(title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title)
    return figure, axes


def _fill(entry: Entry, colour: str = "") -> str:
    """Fill colour of a marker: white for full precision."""
    return "white" if entry.compute_type == FULL_PRECISION else colour or COLOURS[entry.engine]


def _legend(racers: Sequence[RacerResult]) -> list[Line2D]:
    def handle(label: str, colour: str, marker: str, fill: str) -> Line2D:
        return Line2D([], [], color=colour, marker=marker, markerfacecolor=fill, linestyle="none", label=label)

    engines = {racer.entry.engine: COLOURS[racer.entry.engine] for racer in racers}
    types = {racer.entry.compute_type: _fill(racer.entry, "black") for racer in racers}
    return [
        *(handle(engine, colour, MARKERS[engine], colour) for engine, colour in engines.items()),
        *(handle(compute_type, "black", "o", fill) for compute_type, fill in types.items()),
    ]


def _label_ends(axes: Axes, racers: Sequence[RacerResult]) -> None:
    """Labels to the right of the lines, moved apart to avoid overlap."""
    low, high = (math.log(value) for value in axes.get_ylim())
    ordered = sorted(racers, key=lambda racer: racer.sizes[-1].sentences_per_second)
    ends = [racer.sizes[-1] for racer in ordered]
    heights = _apart([(math.log(end.sentences_per_second) - low) / (high - low) for end in ends])
    for racer, end, height in zip(ordered, ends, heights, strict=True):
        entry, colour = racer.entry, COLOURS[racer.entry.engine]
        axes.annotate(
            f"{entry.engine} {entry.settings} {entry.compute_type}",
            (end.batch_size, end.sentences_per_second),
            (1.03, height),
            textcoords="axes fraction",
            va="center",
            fontsize=8,
            color=colour,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "relpos": (0, 0.5), "shrinkB": 3},
        )


def _apart(heights: list[float]) -> list[float]:
    """Ascending heights, as fractions of the figure, at least one line of text apart."""
    for place in range(1, len(heights)):
        heights[place] = max(heights[place], heights[place - 1] + LINE_OF_TEXT)
    return [min(height, 1 - LINE_OF_TEXT * above) for above, height in enumerate(reversed(heights))][::-1]


def _mark_cross_over(axes: Axes, result: RaceResult, racers: Sequence[RacerResult]) -> None:
    """Mark the first cross-over of a racer in the figure."""
    shown = {racer.entry.name: racer.entry.settings for racer in racers}
    for crossing in result.cross_overs:
        if crossing.batch_size is not None and crossing.racer in shown:
            axes.axvline(crossing.batch_size, color="black", linewidth=0.8, linestyle=":")
            label = f" {shown[crossing.racer]} and greedy\n cross at {crossing.batch_size:.0f}"
            axes.text(crossing.batch_size, 0.02, label, transform=axes.get_xaxis_transform(), fontsize=8)
            return


def _plain_numbers(axis: Axis) -> None:
    """Ticks at 1, 2, 5, 10, ... as plain numbers on a logarithmic axis."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
