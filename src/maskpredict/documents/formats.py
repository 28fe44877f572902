"""Reads documents of every known format."""

from __future__ import annotations

from importlib import import_module

from maskpredict.documents.document import Document
from maskpredict.documents.names import FORMATS, name_ending
from maskpredict.errors import UserError
from maskpredict.extras import require

_LIBRARIES = {
    "markdown": ("markdown_it",),
    "gettext": ("polib",),
    **dict.fromkeys(("docx", "pptx", "xlsx", "opendocument", "epub", "xliff"), ("lxml",)),
}
"""Modules of other packages that they need."""


def read_document(name: str, content: bytes) -> Document[bytes]:
    """Read a document, whose format its name tells; raise a `UserError` if it is damaged or of no known format."""
    ending = name_ending(name)
    if ending not in FORMATS:
        raise UserError(
            f"there is no format {ending or 'without an ending'} of documents; there is {', '.join(FORMATS)}."
        )
    module = FORMATS[ending]
    require("documents", f"translating {ending} files", _LIBRARIES.get(module, ()))
    document: Document[bytes] = import_module(f"maskpredict.documents.{module}").read(content)
    return document
