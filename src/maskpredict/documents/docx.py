"""Word documents: paragraphs of the text, headers, footers, footnotes, endnotes, comments and text boxes."""

from __future__ import annotations

from maskpredict.documents.document import Document
from maskpredict.documents.package import Element, Package, XmlFile
from maskpredict.documents.runs import RunMarkup, RunParagraph

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MARKUP = RunMarkup(
    paragraph=f"{_W}p",
    run=f"{_W}r",
    properties=f"{_W}rPr",
    text=f"{_W}t",
    heading=frozenset({f"{_W}pPr"}),
    containers=frozenset(f"{_W}{name}" for name in ("hyperlink", "ins", "moveTo", "fldSimple")),
    breaks=frozenset(f"{_W}{name}" for name in ("br", "cr", "tab")),
    dropped=frozenset({f"{_W}proofErr", f"{_W}lastRenderedPageBreak"}),
    field=f"{_W}fldChar",
    field_type=f"{_W}fldCharType",
)
_PARTS = ("document", "header", "footer", "footnotes", "endnotes", "comments")


def read(content: bytes) -> Document[bytes]:
    """Read a .docx file."""
    return Package(content, {f"word/{part}*.xml": _read_part for part in _PARTS})


def _read_part(content: bytes) -> Document[bytes]:
    return XmlFile(content, _paragraphs)


def _paragraphs(root: Element) -> list[RunParagraph]:
    return [RunParagraph(element, _MARKUP) for element in root.iter(_MARKUP.paragraph)]
