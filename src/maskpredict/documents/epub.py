"""Electronic books (.epub): the text of all chapters, and the table of contents."""

from __future__ import annotations

from maskpredict.documents import html_file
from maskpredict.documents.document import Document
from maskpredict.documents.mixed import MixedMarkup, MixedParagraph
from maskpredict.documents.package import Package, XmlFile

_CONTENTS_ENTRY = "{http://www.daisy.org/z3986/2005/ncx/}text"


def read(content: bytes) -> Document[bytes]:
    """Read an .epub file without encryption."""
    return Package(
        content, {"*.xhtml": html_file.read, "*.html": html_file.read, "*.htm": html_file.read, "*.ncx": _read_contents}
    )


def _read_contents(content: bytes) -> Document[bytes]:
    markup = MixedMarkup(around=frozenset())
    return XmlFile(content, lambda root: [MixedParagraph(entry, markup) for entry in root.iter(_CONTENTS_ENTRY)])
