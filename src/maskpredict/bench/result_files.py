"""Result folder of a race: bench.json, bench.md and the figures."""

from __future__ import annotations

import json
from pathlib import Path

from maskpredict.bench.distillation_result import DistillationResult
from maskpredict.bench.plots import draw
from maskpredict.bench.race_result import RaceResult
from maskpredict.bench.table import markdown
from maskpredict.errors import UserError

JSON_FILE, MARKDOWN_FILE = "bench.json", "bench.md"


def new_results(folder: Path, *, overwrite: bool) -> Path:
    """Create the folder; earlier results in it are replaced only with `overwrite`."""
    if (folder / JSON_FILE).exists() and not overwrite:
        raise UserError(f"{folder} holds an earlier race; choose another folder, or add --overwrite.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be created: {error.strerror}.") from error
    return folder


def write_json(result: RaceResult | DistillationResult, folder: Path) -> None:
    """Write bench.json atomically."""
    partial = folder / f"{JSON_FILE}.partial"
    partial.write_text(json.dumps(result.to_dict(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    partial.replace(folder / JSON_FILE)


def write_results(result: RaceResult, folder: Path) -> None:
    """Write all files."""
    write_json(result, folder)
    (folder / MARKDOWN_FILE).write_text(markdown(result), encoding="utf-8")
    draw(result, folder)


def write_distillation(result: DistillationResult, folder: Path) -> None:
    """Write all files of a race of distillations."""
    write_json(result, folder)
    (folder / MARKDOWN_FILE).write_text(result.to_markdown(), encoding="utf-8")
