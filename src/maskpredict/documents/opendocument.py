"""OpenDocument text (.odt): paragraphs and headings of the text, its notes, headers and footers."""

from __future__ import annotations

from maskpredict.documents.document import Document
from maskpredict.documents.mixed import MixedMarkup, MixedParagraph
from maskpredict.documents.package import Element, Package, XmlFile

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_MARKUP = MixedMarkup(
    around=frozenset({f"{_TEXT}span", f"{_TEXT}a"}),
    breaks=frozenset({f"{_TEXT}line-break", f"{_TEXT}tab"}),
    spaces=frozenset({f"{_TEXT}s"}),
    collapses=True,
)


def read(content: bytes) -> Document[bytes]:
    """Read an .odt file."""
    return Package(content, {"content.xml": _read_part, "styles.xml": _read_part})


def _read_part(content: bytes) -> Document[bytes]:
    return XmlFile(content, _paragraphs)


def _paragraphs(root: Element) -> list[MixedParagraph]:
    return [MixedParagraph(element, _MARKUP) for element in root.iter(f"{_TEXT}p", f"{_TEXT}h")]
