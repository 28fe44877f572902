"""Electronic books (.epub): the text of all chapters, the table of contents, the title and the description."""

from __future__ import annotations

from maskpredict.documents import html_file
from maskpredict.documents.document import Document
from maskpredict.documents.mixed import MixedMarkup, MixedParagraph
from maskpredict.documents.package import Package, XmlFile

_CONTENTS_ENTRY = "{http://www.daisy.org/z3986/2005/ncx/}text"
_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"


def read(content: bytes) -> Document[bytes]:
    """Read an .epub file without encryption."""
    chapters = dict.fromkeys(("*.xhtml", "*.html", "*.htm"), html_file.read)
    return Package(content, {**chapters, "*.ncx": _read_elements, "*.opf": _read_elements})


def _read_elements(content: bytes) -> Document[bytes]:
    markup = MixedMarkup(around=frozenset())
    names = (_CONTENTS_ENTRY, f"{_DUBLIN_CORE}title", f"{_DUBLIN_CORE}description")
    return XmlFile(content, lambda root: [MixedParagraph(element, markup) for element in root.iter(*names)])
