"""JSON: files of unknown origin, bounded in size and refused with a `ValueError` if damaged; and text for our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from maskpredict.disk_errors import explain_disk_errors

MAX_BYTES = 64_000_000
"""Largest file that is read; the dictionary of an imported model has two or three megabytes."""


def read_json(path: Path, max_bytes: int = MAX_BYTES) -> Any:
    """Return the content of a JSON file; raises `OSError` or `ValueError` if there is none that can be used.

    A failing disk is a `DiskError`: the file may be good.
    """
    with explain_disk_errors(path, "read"), path.open("rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"it is larger than {max_bytes} bytes")
    return parse_json(content)


def parse_json(content: bytes) -> Any:
    """Parse JSON in UTF-8; raises `ValueError` if it is damaged or nested too deeply for the parser."""
    try:
        return json.loads(content.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def json_text(content: Any) -> str:
    """Return indented JSON that ends in a newline."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
