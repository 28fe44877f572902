"""Better translations that clients suggest, one JSON object a line; several processes may share the file."""

from __future__ import annotations

import json
from pathlib import Path

from maskpredict.errors import UserError
from maskpredict.serve.http.errors import ApiError

MAX_BYTES = 100_000_000
"""Size from which on the file takes no more suggestions."""


class SuggestionFile:
    """A file that suggestions are appended to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.open("ab").close()
        except OSError as error:
            raise UserError(f"suggestions cannot be written to {path} ({error.strerror}); name another file.") from None

    def add(self, suggestion: dict[str, str]) -> None:
        """Append a suggestion."""
        line = json.dumps(suggestion, ensure_ascii=False).encode() + b"\n"
        try:
            # Without a buffer, so that the lines of two processes do not mix.
            with self._path.open("ab", buffering=0) as stream:
                if stream.tell() + len(line) > MAX_BYTES:
                    raise ApiError(503, "The server has as many suggestions as it keeps.")
                stream.write(line)
        except OSError as error:
            raise ApiError(503, "The server cannot keep suggestions now; try again later.", 60) from error
