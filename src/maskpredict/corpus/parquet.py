"""Columns of Parquet and Arrow files, such as those of Hugging Face datasets, read with pyarrow if it is installed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from maskpredict.errors import UserError

ROWS = 20_000
"""Rows that are read at once."""
SPLITS_FILE = "dataset_dict.json"
STATE_FILE = "state.json"
"""Files of the folder that `datasets` writes with `save_to_disk`: of several splits, and of one."""


def read_columns(path: Path, columns: Sequence[str]) -> Iterator[list[str]]:
    """The values of these columns in each row of a file, or of all files of a folder, in the order of their names.

    A dot leads into a column of structs, as in `translation.de`.
    """
    if find_spec("pyarrow") is None:
        raise UserError(f"reading {path} needs pyarrow: pip install pyarrow.")
    import pyarrow

    for file in table_files(path):
        try:
            for rows in _read_arrow(file, columns) if file.suffix == ".arrow" else _read_parquet(file, columns):
                yield from ([column_value(row, column) for column in columns] for row in rows)
        except (OSError, pyarrow.ArrowException) as error:
            what = "Arrow" if file.suffix == ".arrow" else "Parquet"
            raise UserError(f"{file} cannot be read as {what}: {str(error).splitlines()[0].rstrip('.')}.") from error


def is_table_folder(path: Path) -> bool:
    """Whether a folder has Parquet or Arrow files."""
    return path.is_dir() and any(next(path.rglob(f"*{ending}"), None) for ending in (".parquet", ".arrow"))


def column_value(row: object, column: str) -> str:
    """The text at a dotted column of a row; empty for null."""
    for name in column.split("."):
        row = row[name] if isinstance(row, dict) else None
    return "" if row is None else str(row)


def table_files(path: Path) -> list[Path]:
    """The file itself, or those of a folder in their order."""
    if not path.is_dir():
        return [path]
    if (path / SPLITS_FILE).exists():
        splits = json.loads((path / SPLITS_FILE).read_text(encoding="utf-8"))["splits"]
        raise UserError(f"{path} is a dataset of several splits; name one: {', '.join(str(path / s) for s in splits)}.")
    if (path / STATE_FILE).exists():  # the folder may also have files of the cache
        state = json.loads((path / STATE_FILE).read_text(encoding="utf-8"))
        return [path / file["filename"] for file in state["_data_files"]]
    files = sorted(path.rglob("*.parquet")) or sorted(path.rglob("*.arrow"))
    if not files:
        raise UserError(f"{path} has no .parquet or .arrow files.")
    return files


def _read_parquet(file: Path, columns: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(file) as parquet:
        _check(file, columns, [parquet.schema.column(index).path for index in range(len(parquet.schema))])
        for batch in parquet.iter_batches(ROWS, columns=list(columns)):
            yield batch.to_pylist()


def _read_arrow(file: Path, columns: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
    import pyarrow

    # `datasets` writes streams of batches, without the index at the end that other writers add.
    with pyarrow.memory_map(str(file)) as content, pyarrow.ipc.open_stream(content) as stream:
        _check(file, columns, _names(stream.schema))
        for batch in stream:
            chosen = batch.select(list(dict.fromkeys(column.partition(".")[0] for column in columns)))
            for first in range(0, len(chosen), ROWS):
                yield chosen.slice(first, ROWS).to_pylist()


def _names(fields: Any, prefix: str = "") -> list[str]:
    """Dotted names of all columns of a schema or struct."""
    import pyarrow

    names: list[str] = []
    for field in fields:
        inside = pyarrow.types.is_struct(field.type)
        names += _names(field.type, f"{prefix}{field.name}.") if inside else [f"{prefix}{field.name}"]
    return names


def _check(file: Path, columns: Sequence[str], known: Sequence[str]) -> None:
    for column in columns:
        if column not in known:
            raise UserError(f"{file} has no column {column!r}; it has {', '.join(known)}.")
