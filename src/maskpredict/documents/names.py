"""The formats of documents, by the endings of their names."""

from __future__ import annotations

from pathlib import PurePath

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


def is_document(name: str) -> bool:
    """Return whether a file of this name is a document; plain text is one in a service, and lines elsewhere."""
    return name_ending(name) in FORMATS and name_ending(name) != ".txt"


def name_ending(name: str) -> str:
    """Return the ending of a file's name in lower case."""
    return PurePath(name).suffix.lower()
