"""Detection of full and failing disks among the errors of reading and writing."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from safetensors import SafetensorError

from maskpredict.errors import UserError

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FAILING = {getattr(errno, name, -1) for name in ("EIO", "EREMOTEIO", "ESTALE")}
"""The last is what network file systems say; not every system has all names."""
_NUMBER = re.compile(r"(?:os error|code:) (\d+)")


class DiskError(UserError):
    """A full or failing disk. A file that cannot be read may be intact, so nobody may remove it as damaged."""


def disk_error(error: BaseException, place: object = None, doing: str = "made") -> str | None:
    """A sentence on a full or failing disk; None for any other error. `place` is what was being made or read."""
    number = _number(error)
    if number in _NO_ROOM:
        return f"there is no room left to write {place or 'the output'}; free some disk space."
    if number in _FAILING:
        file = getattr(error, "filename", None)
        where = f"while {place} was {doing}" if place else f"at {file}" if file else "while a file was read or written"
        return f"the disk failed {where} ({os.strerror(number)}); mend it, and run the same command again."
    return None


def _number(error: BaseException) -> int:
    """The number of a system's error, 0 if it is none."""
    if isinstance(error, SafetensorError):  # has it only in its text
        found = _NUMBER.search(str(error))
        return int(found[1]) if found else 0
    return (error.errno or 0) if isinstance(error, OSError) else 0


@contextmanager
def explain_disk_errors(place: object, doing: str = "made") -> Iterator[None]:
    """Turn the error of a full or failing disk into a DiskError that names the file or folder that is made or read."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        sentence = disk_error(error, place, doing)
        if sentence is None:
            raise
        raise DiskError(sentence) from error
