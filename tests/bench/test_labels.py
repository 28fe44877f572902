"""Labels in pictures of races."""

from __future__ import annotations

from itertools import combinations

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from maskpredict.bench.labels import Label, write_labels

CLOSE = [(20.0, 28.0), (20.5, 27.9), (21.0, 28.05), (90.0, 29.0)]


@pytest.fixture
def rooms() -> list[Bbox]:
    """What the labels of four points take up, three of which lie close together."""
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(*zip(*CLOSE, strict=True), "o")
    axes.set_xscale("log")
    write_labels(axes, [Label("T=4 l=1", x, y, "black") for x, y in CLOSE], CLOSE)
    figure.draw_without_rendering()
    return [text.get_window_extent() for text in axes.texts if isinstance(text, Annotation)]


def test_every_point_has_a_label_and_none_lies_on_another(rooms: list[Bbox]) -> None:
    assert len(rooms) == 4
    assert not any(one.overlaps(other) for one, other in combinations(rooms, 2))
