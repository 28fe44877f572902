"""The formats of documents by the endings of their names."""

from __future__ import annotations

from importlib import import_module
from pathlib import PurePath

from maskpredict.documents.document import Document
from maskpredict.errors import UserError
from maskpredict.extras import require

FORMATS = {
    ".txt": "text",
    ".html": "html_file",
    ".htm": "html_file",
    ".xhtml": "html_file",
    ".md": "markdown",
    ".markdown": "markdown",
    ".srt": "subtitles",
    ".vtt": "subtitles",
    ".docx": "docx",
    ".pptx": "pptx",
    ".xlsx": "xlsx",
    ".odt": "opendocument",
    ".epub": "epub",
    ".po": "gettext",
    ".pot": "gettext",
    ".xliff": "xliff",
    ".xlf": "xliff",
    ".json": "json_resources",
    ".yaml": "yaml_resources",
    ".yml": "yaml_resources",
}
"""Modules of this package, each with a function `read(content) -> Document[bytes]`."""

_LIBRARIES = {
    "markdown": ("markdown_it",),
    "gettext": ("polib",),
    **dict.fromkeys(("docx", "pptx", "xlsx", "opendocument", "epub", "xliff"), ("lxml",)),
}
"""Modules of other packages that they need."""


def is_document(name: str) -> bool:
    """Whether a file of this name is a document of a known format."""
    return PurePath(name).suffix.lower() in FORMATS


def read_document(name: str, content: bytes) -> Document[bytes]:
    """Read a document, whose format its name tells; raise a `UserError` if it is damaged or of no known format."""
    module = FORMATS.get(PurePath(name).suffix.lower())
    if module is None:
        known = ", ".join(FORMATS)
        raise UserError(f"{PurePath(name).name} is of no known format; there is {known}.")
    require("documents", f"translating {PurePath(name).suffix} files", _LIBRARIES.get(module, ()))
    document: Document[bytes] = import_module(f"maskpredict.documents.{module}").read(content)
    return document
