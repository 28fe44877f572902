"""Columns of JSON lines: a JSON object in each line, such as `{"text": "Guten Morgen!"}`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from maskpredict.corpus.parquet import column_value
from maskpredict.errors import UserError


def json_columns(lines: Iterable[str], path: Path, columns: Sequence[str]) -> Iterator[list[str]]:
    """The values at these keys of each line of a file. A dot leads into an object inside, as in `translation.de`."""
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UserError(f"Line {number:,} of {path} is not JSON: {error}.") from error
        for column in columns:
            if not _has(row, column):
                known = f"it has {', '.join(row)}" if isinstance(row, dict) else "it is no object"
                raise UserError(f"Line {number:,} of {path} has no {column!r}; {known}.")
        yield [column_value(row, column) for column in columns]


def _has(row: Any, column: str) -> bool:
    for name in column.split("."):
        if not isinstance(row, dict) or name not in row:
            return False
        row = row[name]
    return True
