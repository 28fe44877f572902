"""A file that appears whole or not at all: it is written beside its final place and renamed at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from maskpredict.errors import UserError
from maskpredict.full_disk import explain_full_disk


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream to write to; when the block ends well, its content becomes the file `path`."""
    partial = path.with_name(f"{path.name}.partial-{os.getpid()}")
    try:
        with explain_full_disk(path), open_for_writing(partial, path) as stream:
            yield stream
        partial.replace(path)
    finally:
        with suppress(OSError):  # gone already, or never made because the folder cannot be written to
            partial.unlink()


@contextmanager
def open_for_writing(path: Path, shown: Path | None = None) -> Iterator[BinaryIO]:
    """Open a file to write bytes to, or say in one sentence why `shown` cannot be written."""
    try:
        stream = path.open("wb")
    except OSError as error:
        raise UserError(f"{shown or path} cannot be written: {error.strerror}.") from error
    try:
        yield stream
        stream.flush()
    finally:
        # Closing flushes again; on a full disk that fails a second time and would hide the first failure.
        with suppress(OSError):
            stream.close()
