"""Counts of the translated sentences beside the results: numbers only, so that they can be published.

FOLDER/sentences.npz   for each set of translations, an array [sentences, counts]; see `evaluate.sentence_counts`
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from zipfile import BadZipFile

import numpy as np

from maskpredict.errors import UserError
from maskpredict.evaluate.sentence_counts import Column, Counts, Floats, bleu, draws, repeated
from maskpredict.paper.cell import Cell, FromSentences

COUNTS_FILE = "sentences.npz"
R = TypeVar("R")
draws_of = cache(draws)


def read_counts(folder: Path) -> dict[str, Counts]:
    """Counts by the key of their translations; empty if the folder has none."""
    path = folder / COUNTS_FILE
    if not path.exists():
        return {}
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {key: arrays[key].astype(np.int32) for key in arrays}
    except (OSError, ValueError, BadZipFile) as error:
        raise UserError(f"{path} is damaged; run the analysis again.") from error


def write_counts(folder: Path, counts: Mapping[str, Counts]) -> None:
    """Replace the counts of a folder."""
    content = io.BytesIO()
    small = {key: counts[key].astype(np.uint16) for key in sorted(counts)}
    np.savez_compressed(content, allow_pickle=False, **small)
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{COUNTS_FILE}.partial"
    partial.write_bytes(content.getvalue())
    partial.replace(folder / COUNTS_FILE)


def resamples(source: FromSentences, counts: Mapping[str, Counts]) -> Floats | None:
    """The number for each resample of the test set; None without its counts."""
    if source.key not in counts:
        return None
    rows = counts[source.key]
    words = rows[:, Column.reference_words]
    inside = (words >= source.shortest) & (words < (source.below or np.inf))
    measure = {"bleu": bleu, "repeated": repeated}[source.measure]
    return measure(np.where(inside[:, None], rows, 0), draws_of(len(rows)))


def with_cells(result: R, change: Callable[[Cell], Cell]) -> R:
    """The result of an analysis with every cell changed."""
    changed: R = _changed(result, change)
    return changed


def _changed(value: Any, change: Callable[[Cell], Cell]) -> Any:
    match value:
        case Cell():
            return change(value)
        case tuple():
            return tuple(_changed(item, change) for item in value)
        case dict():
            return {key: _changed(item, change) for key, item in value.items()}
        case _ if is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in fields(value)]
            return replace(value, **{name: _changed(getattr(value, name), change) for name in names})
        case _:
            return value
