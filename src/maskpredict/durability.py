"""Waiting until written bytes are on the disk: a file system may rename a file before it has written its content."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

_NOT_POSSIBLE = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EROFS}
"""Errors of file systems that cannot be asked, such as some of networks, and of folders on Windows."""


def flush_to_disk(path: Path) -> None:
    """Return when the content of a file, or the names in a folder, would survive a power failure."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:  # a folder on Windows
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NOT_POSSIBLE:
            raise
    finally:
        with suppress(OSError):
            os.close(descriptor)
