"""Plain text files."""

from __future__ import annotations

from maskpredict.documents.document import Document
from maskpredict.documents.encoded import read_encoded
from maskpredict.documents.plain import PlainText


def read(content: bytes) -> Document[bytes]:
    """Read a .txt file; every line is a paragraph."""
    return read_encoded(content, PlainText)
