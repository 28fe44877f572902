"""A folder of results that appears whole or not at all.

The work is done in a sibling folder, which is renamed at the very end. A failure, Ctrl-C included, removes it
and leaves whatever stood at the final place untouched; only a killed process leaves the sibling behind.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from maskpredict.errors import UserError
from maskpredict.full_disk import explain_full_disk


@contextmanager
def new_folder(out: Path, *, overwrite: bool, marker: str) -> Iterator[Path]:
    """Yield a folder to fill; when the block ends well, it becomes `out`.

    An `out` that has content is refused, or with `overwrite` replaced. Even then it must hold a file called
    `marker`, which shows that it is an earlier result and not, say, somebody's home.
    """
    out = out.resolve()
    _refuse_content(out, overwrite, marker)
    partial = out.with_name(f"{out.name}.partial-{os.getpid()}")
    # Left by a killed process that had our number, which is common in containers.
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
    except OSError as error:
        raise UserError(f"{out} cannot be made: {error.strerror}.") from error
    try:
        with explain_full_disk(out):
            yield partial
        _move_into_place(partial, out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


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


def _move_into_place(partial: Path, out: Path) -> None:
    previous = out.with_name(f"{out.name}.previous-{os.getpid()}")
    if out.exists():
        out.rename(previous)
    try:
        partial.rename(out)
    except BaseException:
        if previous.exists():
            previous.rename(out)
        raise
    shutil.rmtree(previous, ignore_errors=True)
