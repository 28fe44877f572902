"""HTML files, with the texts of attributes such as alt."""

from __future__ import annotations

import re

from maskpredict.documents.document import Document
from maskpredict.documents.encoded import read_encoded
from maskpredict.documents.html import HtmlMarkup

_CHARSET = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_SEARCHED = 1_024
"""Bytes in which a declaration of the encoding must stand."""


def read(content: bytes) -> Document[bytes]:
    """Read an .html or .xhtml file in the encoding that it declares."""
    declared = _CHARSET.search(content[:_SEARCHED])
    return read_encoded(
        content,
        lambda markup: HtmlMarkup(markup, attributes=True),
        declared=declared[1].decode("ascii") if declared else None,
        errors="xmlcharrefreplace",
    )
