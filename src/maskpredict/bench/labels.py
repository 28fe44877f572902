"""Labels of points in a figure, placed so that they do not overlap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.transforms import Bbox

MARKER = 5
"""Half the height of a marker, in points."""
PLACES: tuple[dict[str, Any], ...] = (
    {"position": (0, 7), "ha": "center", "va": "bottom"},
    {"position": (0, -7), "ha": "center", "va": "top"},
    {"position": (8, 0), "ha": "left", "va": "center"},
    {"position": (-8, 0), "ha": "right", "va": "center"},
)
"""Candidate positions of a label, as offsets from its point; earlier ones are preferred."""


@dataclass(frozen=True)
class Label:
    """Text and colour of a label at a point."""

    text: str
    x: float
    y: float
    colour: str


def write_labels(axes: Axes, labels: Sequence[Label], points: Iterable[tuple[float, float]]) -> None:
    """Place each label where it overlaps `points` and other labels least; axis scales and limits must be set."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # computes the positions of points on the canvas
    reach = MARKER * figure.dpi / 72
    on_canvas = axes.transData.transform(list(points))
    taken = [Bbox.from_extents(x - reach, y - reach, x + reach, y + reach) for x, y in on_canvas]
    for label in labels:
        taken.append(_written(axes, label, taken))


def _written(axes: Axes, label: Label, taken: Sequence[Bbox]) -> Bbox:
    """Place a label at its best position; returns its bounding box."""
    text = axes.annotate(
        label.text, (label.x, label.y), (0, 0), textcoords="offset points", fontsize=8, color=label.colour
    )

    def box(place: dict[str, Any]) -> Bbox:
        text.set(**place)
        return text.get_window_extent()

    def covered(place: dict[str, Any]) -> float:
        return sum(_overlap(box(place), other) for other in taken)

    return box(min(PLACES, key=covered))


def _overlap(one: Bbox, other: Bbox) -> float:
    """Area of the intersection of two boxes."""
    both = Bbox.intersection(one, other)
    return 0.0 if both is None else float(both.width * both.height)
