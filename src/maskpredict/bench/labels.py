"""Names beside the points of a picture, so that none lies on another."""

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
"""Where a label may stand, in points from what it names; the first is tried first."""


@dataclass(frozen=True)
class Label:
    """What to write at a point, and in which colour."""

    text: str
    x: float
    y: float
    colour: str


def write_labels(axes: Axes, labels: Sequence[Label], points: Iterable[tuple[float, float]]) -> None:
    """Write each label where it covers the least of `points` and of other labels; scales and limits must be set."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # now it is known where on the paper a point is
    reach = MARKER * figure.dpi / 72
    on_paper = axes.transData.transform(list(points))
    taken = [Bbox.from_extents(x - reach, y - reach, x + reach, y + reach) for x, y in on_paper]
    for label in labels:
        taken.append(_written(axes, label, taken))


def _written(axes: Axes, label: Label, taken: Sequence[Bbox]) -> Bbox:
    """Write a label in its best place; the room that it takes."""
    text = axes.annotate(
        label.text, (label.x, label.y), (0, 0), textcoords="offset points", fontsize=8, color=label.colour
    )

    def room(place: dict[str, Any]) -> Bbox:
        text.set(**place)
        return text.get_window_extent()

    def covered(place: dict[str, Any]) -> float:
        return sum(_shared(room(place), other) for other in taken)

    return room(min(PLACES, key=covered))


def _shared(one: Bbox, other: Bbox) -> float:
    """The area that two boxes share."""
    both = Bbox.intersection(one, other)
    return 0.0 if both is None else float(both.width * both.height)
