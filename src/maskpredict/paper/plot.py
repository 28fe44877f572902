"""Common style of all figures: legible at the width of a README, in colours for colour-blind readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maskpredict.paper.cell import Cell

# The palette of Okabe and Ito for colour-blind readers; markers differ too.
BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#999999"
COLORS = (BLUE, ORANGE, GREEN, RED, PURPLE, GREY)
MARKERS = ("o", "s", "^", "D", "v", "P")
WIDTH, HEIGHT = 8.0, 3.8
"""Inches; at DOTS_PER_INCH about twice the width of a README in pixels."""
DOTS_PER_INCH = 200
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "axes.titlesize": 11.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "lines.linewidth": 1.8,
    "lines.markersize": 6.5,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "maskpredict",  # equal numbers give equal files
}

Drawing = Callable[[], Figure | None]


def panels(count: int = 1, *, height: float = HEIGHT, **options: Any) -> tuple[Figure, list[Axes]]:
    """New figure with `count` panels side by side."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(1, count, squeeze=False, **options)
    return figure, list(axes[0])


def points(cells: Sequence[tuple[Any, Cell]]) -> tuple[list[Any], list[float]]:
    """Coordinates of the cells that have a value, as lists of x and y."""
    known = [(x, cell.value) for x, cell in cells if cell.value is not None]
    return [x for x, _ in known], [y for _, y in known]


def save(draw: Drawing, stem: Path) -> list[Path]:
    """Draw, and write STEM.png and STEM.svg; returns the paths, an empty list if there was nothing to draw."""
    paths = [stem.with_name(f"{stem.name}{ending}") for ending in (".png", ".svg")]
    with matplotlib.rc_context(STYLE):
        figure = draw()
        if figure is None:
            for path in paths:
                path.unlink(missing_ok=True)
            return []
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
            figure.savefig(path, dpi=DOTS_PER_INCH, metadata=metadata)
    return paths
