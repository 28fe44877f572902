"""Documents translated without a model: every sentence becomes upper case, word by word."""

from __future__ import annotations

from collections.abc import Callable

from maskpredict.documents.document import SegmentedDocument
from maskpredict.documents.formats import read_document
from maskpredict.runtime.translation import Translation


def translated(name: str, content: bytes, change: Callable[[str], str] = str.upper) -> bytes:
    """The document after a translation that changes every sentence in this way."""
    segmented = SegmentedDocument.split(read_document(name, content), "de")
    texts = [change(sentence.text) for sentence in segmented.sentences]
    return segmented.replace([Translation(text, [], 0.0, [], 0) for text in texts])


def sentences(name: str, content: bytes) -> list[str]:
    """The sentences of a document."""
    return [sentence.text for sentence in SegmentedDocument.split(read_document(name, content), "de").sentences]
