"""Draw docs/images/speed-quality.svg: time of a single sentence on two CPU cores against BLEU.

Times are those of benchmarks/results/race-cpu, BLEU those of results/de-en on the Europarl test set.

.venv/bin/python docs/images/make_speed_quality.py
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[2]
PICTURE = Path(__file__).with_name("speed-quality.svg")

WIDTH, HEIGHT = 840, 440
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 20, 60
MILLISECONDS, MILLISECOND_TICKS = (8.0, 130.0), (10, 20, 50, 100)
BLEU, BLEU_TICKS = (25.5, 31.2), (26, 27, 28, 29, 30, 31)
OURS, OTHERS, GRID, TEXT = "#0b62b8", "#b8530b", "#d0d7de", "#1f2328"


@dataclass(frozen=True)
class Point:
    """One way to translate."""

    label: str
    racer: str
    """Its name in the race."""
    file: str
    """File with its BLEU."""
    where: dict[str, Any]
    """Values that its record has there."""
    label_below: bool = False


def _shallow(settings: dict[str, Any]) -> dict[str, Any]:
    return {"system": "shallow_final", "settings": settings}


SHALLOW = "shallow_scores.json"
POINTS = (
    Point(
        "de-en-shallow, fast",
        "mask-predict-shallow-fast-int8",
        SHALLOW,
        _shallow({"iterations": 2, "length_candidates": 1}),
    ),
    Point(
        "de-en-shallow, balanced",
        "mask-predict-shallow-balanced-int8",
        SHALLOW,
        _shallow({"iterations": 4, "length_candidates": 1, "threshold": 0.8}),
    ),
    Point(
        "de-en-shallow, T=10, l=1",
        "mask-predict-shallow-t10-l1-int8",
        SHALLOW,
        _shallow({"iterations": 10, "length_candidates": 1}),
        label_below=True,
    ),
    Point(
        "de-en, T=4, l=1",
        "mask-predict-t4-l1-int8",
        SHALLOW,
        {"system": "final", "settings": {"iterations": 4, "length_candidates": 1}},
        label_below=True,
    ),
    Point(
        "12+1 layers, beam 1", "ctranslate2-rival-b1-int8", SHALLOW, {"system": "rival", "settings": {"beam_size": 1}}
    ),
    Point(
        "12+1 layers, beam 5", "ctranslate2-rival-b5-int8", SHALLOW, {"system": "rival", "settings": {"beam_size": 5}}
    ),
    Point("de-en-ar, beam 1", "ctranslate2-b1-int8", "main_table.json", {"key": "baseline.b1"}),
    Point(
        "de-en-ar, beam 5", "ctranslate2-b5-int8", "scores.json", {"system": "teacher", "settings": {"beam_size": 5}}
    ),
)


def bleu_of(point: Point) -> float:
    """BLEU on the Europarl test set."""
    records = json.loads((ROOT / "results" / "de-en" / point.file).read_text("utf-8"))
    if isinstance(records, dict):
        records = records["result"]["rows"]
    (bleu,) = (
        record["bleu"]
        for record in records
        if all(record[key] == value for key, value in point.where.items())
        and record.get("split", "test.europarl") == "test.europarl"
    )
    return float(bleu["value"] if isinstance(bleu, dict) else bleu)


def milliseconds_of(point: Point) -> float:
    """Median time of a single sentence."""
    race = json.loads((ROOT / "benchmarks" / "results" / "race-cpu" / "bench.json").read_text("utf-8"))
    (racer,) = (racer for racer in race["racers"] if racer["entry"]["name"] == point.racer)
    (size,) = (size for size in racer["sizes"] if size["batch_size"] == 1)
    return float(size["milliseconds"]["median"])


def draw() -> str:
    """The picture as SVG."""
    return "\n".join(
        [
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" xmlns="http://www.w3.org/2000/svg" font-size="14"',
            '     font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#ffffff" stroke="{GRID}"/>',
            *_axes(),
            *(line for point in POINTS for line in _drawn(point)),
            *_legend(),
            "</svg>",
            "",
        ]
    )


def _x(milliseconds: float) -> float:
    low, high = map(math.log, MILLISECONDS)
    return LEFT + (math.log(milliseconds) - low) / (high - low) * (WIDTH - LEFT - RIGHT)


def _y(bleu: float) -> float:
    low, high = BLEU
    return HEIGHT - BOTTOM - (bleu - low) / (high - low) * (HEIGHT - TOP - BOTTOM)


def _text(x: float, y: float, text: str, colour: str = TEXT, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{escape(text)}</text>'


def _axes() -> Iterator[str]:
    for tick in MILLISECOND_TICKS:
        yield f'<path d="M{_x(tick):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="{GRID}"/>'
        yield _text(_x(tick), HEIGHT - BOTTOM + 20, f"{tick}", anchor="middle")
    for tick in BLEU_TICKS:
        yield f'<path d="M{LEFT} {_y(tick):.1f}H{WIDTH - RIGHT}" stroke="{GRID}"/>'
        yield _text(LEFT - 8, _y(tick) + 5, f"{tick}", anchor="end")
    yield _text(
        (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "milliseconds a sentence, two CPU cores, int8", anchor="middle"
    )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    yield (
        f'<text transform="translate(24 {middle:.1f}) rotate(-90)" fill="{TEXT}" text-anchor="middle">'
        "BLEU, Europarl, German to English</text>"
    )


def _drawn(point: Point) -> Iterator[str]:
    x, y = _x(milliseconds_of(point)), _y(bleu_of(point))
    if point.racer.startswith("mask-predict"):
        colour = OURS
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{OURS}"/>'
    else:
        colour = OTHERS
        yield f'<rect x="{x - 5.5:.1f}" y="{y - 5.5:.1f}" width="11" height="11" fill="{OTHERS}"/>'
    is_at_edge = x > WIDTH - RIGHT - 140
    yield _text(
        x - 10 if is_at_edge else x + 10,
        y + (20 if point.label_below else -8),
        point.label,
        colour,
        anchor="end" if is_at_edge else "start",
    )


def _legend() -> Iterator[str]:
    x, y = WIDTH - RIGHT - 270, HEIGHT - BOTTOM - 75
    yield f'<circle cx="{x}" cy="{y}" r="6" fill="{OURS}"/>'
    yield _text(x + 14, y + 5, "mask-predict, maskpredict", OURS)
    yield f'<rect x="{x - 5.5}" y="{y + 18.5}" width="11" height="11" fill="{OTHERS}"/>'
    yield _text(x + 14, y + 29, "autoregressive, CTranslate2", OTHERS)


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
