"""A folder of results that appears whole or not at all.

The work is done in a sibling folder, which is renamed at the very end, when its files are on the disk. A failure,
Ctrl-C included, removes it and leaves an earlier result untouched. A killed process leaves the sibling behind; the next
one that makes the same folder removes it, and puts an earlier result back that was just being replaced.
"""

from __future__ import annotations

import glob
import logging
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from maskpredict.disk_errors import explain_disk_errors
from maskpredict.durability import flush_to_disk
from maskpredict.errors import UserError

try:
    import fcntl
except ImportError:  # Windows has no such locks; leftovers stay there
    fcntl = None  # type: ignore[assignment]

_PARTIAL = ".partial-maskpredict-"
_UNLOCKED = ".starting-maskpredict-"
"""A partial folder gets its name once it is locked; without a lock, another process would take it for a leftover."""
_PREVIOUS = ".previous-maskpredict-"


@contextmanager
def new_folder(out: Path, *, overwrite: bool, marker: str, first_wins: bool = False) -> Iterator[Path]:
    """Yield a folder to fill; when the block ends well, it becomes `out`.

    An `out` that has content is refused, or with `overwrite` replaced. Even then it must hold a file called
    `marker`, which shows that it is an earlier result and not an unrelated folder. With `first_wins`, several processes
    may make the same folder at the same time, on several machines too; the first to finish it decides its content.
    """
    out = out.resolve()
    if not first_wins:  # which replaces nothing
        _restore_previous(out)
    if not (first_wins and (out / marker).exists()):
        _refuse_content(out, overwrite, marker)
    _remove_leftovers(out)
    # Processes on other machines, above all in containers, may have the same number.
    attempt = f"{os.getpid()}-{secrets.token_hex(4)}"
    partial, unlocked = (out.with_name(f"{out.name}{ending}{attempt}") for ending in (_PARTIAL, _UNLOCKED))
    try:
        unlocked.mkdir(parents=True)
    except OSError as error:
        raise UserError(f"{out} cannot be made: {error.strerror}.") from error
    try:
        with explain_disk_errors(out), _locked(unlocked):
            unlocked.rename(partial)
            yield partial
            for path in (*partial.rglob("*"), partial):
                flush_to_disk(path)
            if first_wins:
                _move_unless_made(partial, out, marker)
            else:
                _move_into_place(partial, out)
    finally:
        for folder in (unlocked, partial):
            shutil.rmtree(folder, ignore_errors=True)


def remove_folder(folder: Path) -> None:
    """Remove a folder; if this process is killed meanwhile, what is left does not look like a result."""
    name, _, _ = folder.name.partition(_PREVIOUS)
    doomed = folder.with_name(f"{name}{_PARTIAL}{os.getpid()}")
    shutil.rmtree(doomed, ignore_errors=True)
    with suppress(FileNotFoundError):
        folder.rename(doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def _restore_previous(out: Path) -> None:
    """Put an earlier result back if a process was killed after moving it away and before its new one was in place."""
    for previous in out.parent.glob(f"{glob.escape(out.name)}{_PREVIOUS}*"):
        with _locked(previous) as locked:
            if not locked or not previous.is_dir():
                continue
            if out.exists():
                remove_folder(previous)
            else:
                previous.rename(out)
                logging.getLogger(__name__).warning("%s is restored; a process was killed while replacing it.", out)


def _remove_leftovers(out: Path) -> None:
    """Remove what killed processes left of earlier attempts; a folder that a process still fills is locked."""
    for left in out.parent.glob(f"{glob.escape(out.name)}{_PARTIAL}*"):
        with _locked(left) as locked:
            if locked and left.is_dir():
                logging.getLogger(__name__).warning("Removing %s, which a killed process left unfinished.", left)
                shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Try to lock a folder; yields whether that succeeded. The system releases the lock of a killed process."""
    with ExitStack() as stack:
        locked = False
        with suppress(OSError):  # another process has the lock, or the file system has no locks
            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                locked = True
        yield locked


def _refuse_content(out: Path, overwrite: bool, marker: str) -> None:
    if not out.exists():
        return
    if not out.is_dir():
        raise UserError(f"{out} exists and is not a folder; choose another place.")
    if not any(out.iterdir()):
        return
    if not overwrite:
        raise UserError(f"{out} is not empty; choose another place, or ask to overwrite it.")
    if not (out / marker).exists():
        raise UserError(f"{out} has no {marker}, so it is no earlier result and will not be overwritten.")


def _move_unless_made(partial: Path, out: Path, marker: str) -> None:
    try:
        partial.rename(out)
    except OSError:
        if not (out / marker).exists():  # else another process was faster
            raise


def _move_into_place(partial: Path, out: Path) -> None:
    if not out.exists():
        partial.rename(out)
        return
    previous = out.with_name(f"{out.name}{_PREVIOUS}{os.getpid()}")
    with _locked(out):
        out.rename(previous)
        try:
            partial.rename(out)
        except BaseException:
            previous.rename(out)
            raise
        remove_folder(previous)
