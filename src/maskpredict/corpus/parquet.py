"""Pairs from Parquet files, such as those of Hugging Face datasets. They are read with pyarrow, if it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from maskpredict.errors import UserError

ROWS = 20_000
"""Rows that are read at once."""


def read_columns(path: Path, columns: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """The values of two columns of a file, or of all .parquet files below a folder, in the order of their names.

    A dot leads into a column of structs, as in `translation.de`.
    """
    if find_spec("pyarrow") is None:
        raise UserError(f"reading {path} needs pyarrow: pip install pyarrow.")
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise UserError(f"{path} has no .parquet files.")
    for file in files:
        yield from _read_file(file, columns)


def _read_file(file: Path, columns: tuple[str, str]) -> Iterator[tuple[str, str]]:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(file) as parquet:
            known = [parquet.schema.column(index).path for index in range(len(parquet.schema))]
            for column in columns:
                if column not in known:
                    raise UserError(f"{file} has no column {column!r}; it has {', '.join(known)}.")
            for batch in parquet.iter_batches(ROWS, columns=list(columns)):
                rows = batch.to_pylist()
                yield from ((_value(row, columns[0]), _value(row, columns[1])) for row in rows)
    except (OSError, pyarrow.ArrowException) as error:
        raise UserError(f"{file} cannot be read as Parquet: {str(error).splitlines()[0].rstrip('.')}.") from error


def _value(row: object, column: str) -> str:
    for name in column.split("."):
        row = row[name] if isinstance(row, dict) else None
    return "" if row is None else str(row)
