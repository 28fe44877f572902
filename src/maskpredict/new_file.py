"""A file that appears whole or not at all.

It is written beside its final place, and renamed when its content is on the disk.
"""

from __future__ import annotations

import glob
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from maskpredict.disk_errors import explain_disk_errors
from maskpredict.durability import flush_to_disk
from maskpredict.errors import UserError

logger = logging.getLogger(__name__)

_PARTIAL = ".partial-"
_WINDOWS = os.name == "nt"
"""There an open file can be neither renamed nor deleted."""


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream to write to; when the block ends well, its content becomes the file `path`."""
    _delete_leftovers(path)
    partial = path.with_name(f"{path.name}{_PARTIAL}{os.getpid()}")
    try:
        with explain_disk_errors(path), _open_locked(partial, path) as stream:
            yield stream
            stream.flush()
            flush_to_disk(partial)
            if not _WINDOWS:  # while it is locked, so that nobody takes it for a leftover
                partial.replace(path)
        if _WINDOWS:
            partial.replace(path)
    finally:
        with suppress(OSError):  # gone already, or never made because the folder cannot be written to
            partial.unlink()


def is_partial(path: Path, name: str) -> bool:
    """Whether a path is what a killed process left of a new file of this name."""
    return path.name.startswith(f"{name}{_PARTIAL}")


def _delete_leftovers(path: Path) -> None:
    """Delete what killed processes left beside a file, and say so."""
    for leftover in path.parent.glob(f"{glob.escape(path.name)}{_PARTIAL}*"):
        with suppress(OSError), leftover.open("rb") as stream:
            # Its writer may have renamed it since it was opened, and begun another of this name.
            if lock(stream, wait=False) and os.path.samestat(os.fstat(stream.fileno()), leftover.stat()):
                leftover.unlink()
                logger.warning("%s was left by a run that was killed; it is deleted.", leftover)


@contextmanager
def _open_locked(partial: Path, path: Path) -> Iterator[BinaryIO]:
    """Open a file to write to and lock it; again, if another process took it for a leftover before it was locked."""
    while True:
        with open_for_writing(partial, path) as stream:
            lock(stream, wait=True)
            if partial.exists():
                yield stream
                return


def lock(stream: BinaryIO, *, wait: bool) -> bool:
    """Lock a file until it is closed or its process ends; return False if that cannot be had."""
    if _WINDOWS:
        return False
    import fcntl

    try:
        fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # another process has it, or the file system has no locks
        return False
    return True


@contextmanager
def open_for_writing(path: Path, shown: Path | None = None, mode: str = "wb") -> Iterator[BinaryIO]:
    """Open a file to write bytes to, or say in one sentence why `shown` cannot be written."""
    try:
        stream = cast(BinaryIO, path.open(mode))
    except OSError as error:
        raise UserError(f"{shown or path} cannot be written: {error.strerror}.") from error
    try:
        yield stream
        stream.flush()
    finally:
        # Closing flushes again; on a full disk that fails a second time and would hide the first failure.
        with suppress(OSError):
            stream.close()
