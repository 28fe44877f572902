"""Detection of full disks among write errors."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

from safetensors import SafetensorError

from maskpredict.errors import UserError

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NUMBER = re.compile(r"(?:os error|code:) (\d+)")


def is_full_disk(error: BaseException) -> bool:
    """Return whether a write failed because the disk, a quota or a size limit is exhausted."""
    if isinstance(error, SafetensorError):  # has the error number only in its text
        number = _NUMBER.search(str(error))
        return number is not None and int(number[1]) in _NO_ROOM
    return isinstance(error, OSError) and error.errno in _NO_ROOM


@contextmanager
def explain_full_disk(what: object) -> Iterator[None]:
    """Turn the error of a full disk into a UserError that names the file or folder `what`."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        if not is_full_disk(error):
            raise
        raise UserError(f"there is no room left to write {what}; free some disk space.") from error
