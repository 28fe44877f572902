"""Translated files on their way back: kept for some minutes under names that cannot be guessed."""

from __future__ import annotations

import re
import secrets
import time
from pathlib import Path

from maskpredict.serve.http.errors import RETRY_AFTER, Refusal

KEPT_SECONDS = 600
MOST_BYTES = 50_000_000
"""All files that are kept, together."""
_NAME = re.compile(r"[A-Za-z0-9_-]{43}\.txt")


class FileStore:
    """A folder of texts; several processes may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, text: str) -> str:
        """Keep a text for a while; the name under which it is found is all that protects it."""
        content = text.encode("utf-8")
        if self._tidy() + len(content) > MOST_BYTES:
            raise Refusal(503, "The server keeps too many files; try again in some minutes.", RETRY_AFTER)
        name = f"{secrets.token_urlsafe(32)}.txt"
        (self.folder / name).write_bytes(content)
        return name

    def find(self, name: str) -> Path | None:
        """The file of that name, if it is one of ours and still kept."""
        self._tidy()
        path = self.folder / name
        return path if _NAME.fullmatch(name) and path.is_file() else None

    def _tidy(self) -> int:
        """Delete what is too old; the bytes that are left."""
        size = 0
        for path in self.folder.glob("*.txt"):
            try:
                status = path.stat()
                if time.time() - status.st_mtime > KEPT_SECONDS:
                    path.unlink()
                else:
                    size += status.st_size
            except FileNotFoundError:  # another worker was quicker
                continue
        return size
