"""Documents of text in some encoding, which is kept."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from maskpredict.documents.block import Block
from maskpredict.documents.document import Document
from maskpredict.errors import UserError

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
"""Byte order marks."""


@dataclass(frozen=True)
class EncodedText:
    """A document of text as bytes."""

    document: Document[str]
    encoding: str
    mark: bytes = b""
    """Its byte order mark."""
    errors: str = "strict"
    """Python's name of how to write characters that the encoding lacks."""

    @property
    def blocks(self) -> Sequence[Block]:
        """As in `Document`."""
        return self.document.blocks

    def render(self, blocks: Sequence[Block]) -> bytes:
        """As in `Document`."""
        text = self.document.render(blocks)
        # A translation cannot bring lone surrogates, which UTF-8 does not have either.
        return self.mark + text.encode(self.encoding, self.errors)


def read_encoded(
    content: bytes, read: Callable[[str], Document[str]], *, declared: str | None = None, errors: str = "strict"
) -> EncodedText:
    """Read a document of text in the encoding that its byte order mark tells, or that it declares, or in UTF-8."""
    mark, encoding = next(
        ((mark, name) for mark, name in _MARKS if content.startswith(mark)), (b"", declared or "utf-8")
    )
    try:
        text = content[len(mark) :].decode(encoding)
    except (UnicodeDecodeError, LookupError):
        raise UserError(f"the document is not text in {encoding}; save it in UTF-8.") from None
    if "\0" in text:
        raise UserError("the document holds NUL characters, so it is not text; save it as text in UTF-8.")
    return EncodedText(read(text), encoding, mark, errors)
