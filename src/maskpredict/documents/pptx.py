"""PowerPoint presentations: paragraphs of slides, their notes and their charts."""

from __future__ import annotations

from maskpredict.documents.document import Document
from maskpredict.documents.package import Element, Package, XmlFile
from maskpredict.documents.runs import RunMarkup, RunParagraph

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_MARKUP = RunMarkup(
    paragraph=f"{_A}p",
    run=f"{_A}r",
    properties=f"{_A}rPr",
    text=f"{_A}t",
    heading=frozenset({f"{_A}pPr"}),
    trailer=frozenset({f"{_A}endParaRPr"}),
    breaks=frozenset({f"{_A}br"}),
)
_PARTS = ("slides/slide", "notesSlides/notesSlide", "diagrams/data")


def read(content: bytes) -> Document[bytes]:
    """Read a .pptx file."""
    return Package(content, {f"ppt/{part}*.xml": _read_part for part in _PARTS})


def _read_part(content: bytes) -> Document[bytes]:
    return XmlFile(content, _paragraphs)


def _paragraphs(root: Element) -> list[RunParagraph]:
    return [RunParagraph(element, _MARKUP) for element in root.iter(_MARKUP.paragraph)]
