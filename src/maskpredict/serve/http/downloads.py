"""Translated files, kept for ten minutes under unguessable names.

Their times are those of the monotonic clock, so that they do not expire early or late when the time of day is set.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from pathlib import Path

from maskpredict.documents.names import FORMATS
from maskpredict.serve.http.errors import ApiError

KEPT_SECONDS = 600
"""Seconds until a file expires."""
MAX_BYTES = 50_000_000
"""Total size of all files."""
RETRY_SECONDS = 60
"""Seconds after which a client may try again if there is no room for a file."""
_NAME = re.compile(rf"[A-Za-z0-9_-]{{43}}({'|'.join(map(re.escape, FORMATS))})")


class DownloadStore:
    """A folder of translated files; several processes may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, content: bytes, ending: str) -> str:
        """Store a file and return its name, with this ending; anyone who knows the name can download it."""
        if self._remove_expired() + len(content) > MAX_BYTES:
            raise ApiError(503, "The server keeps too many files; try again in a few minutes.", RETRY_SECONDS)
        name = f"{secrets.token_urlsafe(32)}{ending}"
        try:
            (self.folder / name).write_bytes(content)
            now = time.monotonic()
            os.utime(self.folder / name, (now, now))
        except OSError as error:
            (self.folder / name).unlink(missing_ok=True)
            raise ApiError(503, "The server cannot keep the file now; try again later.", RETRY_SECONDS) from error
        return name

    def find(self, name: str) -> Path | None:
        """Return the path of a stored file; None if there is none of that name."""
        self._remove_expired()
        path = self.folder / name
        return path if _NAME.fullmatch(name) and path.is_file() else None

    def _remove_expired(self) -> int:
        """Delete expired files and return the total size of the others."""
        size = 0
        for path in filter(lambda path: _NAME.fullmatch(path.name), self.folder.iterdir()):
            try:
                status = path.stat()
                if time.monotonic() - status.st_mtime > KEPT_SECONDS:
                    path.unlink()
                else:
                    size += status.st_size
            except FileNotFoundError:  # another worker deleted it
                continue
        return size
