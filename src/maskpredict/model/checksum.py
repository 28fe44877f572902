"""The checksum of a model folder's weights, in its config.json (see `maskpredict/checksums.py`)."""

from __future__ import annotations

from pathlib import Path

from maskpredict.checksums import checksum_of
from maskpredict.errors import UserError

CHECKSUM_KEY = "weights_checksum"
"""Where config.json keeps it."""


def verify(path: Path, expected: object) -> None:
    """Refuse a file whose checksum is not the expected one; None expects nothing, as older model folders do."""
    if expected is None:
        return
    actual = checksum_of(path)
    if actual != expected:
        raise UserError(
            f"{path} is damaged: its checksum is {actual}, not {expected} as when it was written; "
            "copy the model folder again."
        )
