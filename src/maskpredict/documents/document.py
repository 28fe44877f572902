"""The protocol of documents, and their translation sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from maskpredict.documents.block import Block, Item, Sentence, split_block
from maskpredict.documents.projection import place_tags
from maskpredict.runtime.lines import Line
from maskpredict.runtime.translation import Translation

Content = TypeVar("Content", covariant=True)
"""Text or bytes of a file."""


class Document(Protocol[Content]):
    """A file of some format, read."""

    @property
    def blocks(self) -> Sequence[Block]:
        """The text that a reader sees, in blocks that no sentence goes beyond, in order."""

    def render(self, blocks: Sequence[Block]) -> Content:
        """Return the file with other blocks in place of its own, and everything else as it was."""


class SegmentedDocument(Generic[Content]):
    """A document as sentences to translate, and all that stands between them."""

    def __init__(self, document: Document[Content], pieces: Sequence[Sequence[Sentence | Item]]) -> None:
        """`pieces` are those of each block; use `split` to make them."""
        self.document, self._pieces = document, pieces

    @classmethod
    def split(cls, document: Document[Content], language: str) -> SegmentedDocument[Content]:
        """Split each block into its sentences; `language` is the code of the document's language."""
        return cls(document, [list(split_block(block, language)) for block in document.blocks])

    @classmethod
    def whole(cls, document: Document[Content]) -> SegmentedDocument[Content]:
        """Take each block as one sentence."""
        return cls(document, [[Sentence(tuple(block))] for block in document.blocks])

    @classmethod
    def untranslated(cls, document: Document[Content]) -> SegmentedDocument[Content]:
        """Keep the document as it is: it has no sentences to translate."""
        return cls(document, document.blocks)

    @property
    def sentences(self) -> list[Sentence]:
        """The sentences to translate, in order."""
        return [piece for pieces in self._pieces for piece in pieces if isinstance(piece, Sentence)]

    @property
    def lines(self) -> list[Line]:
        """The same for a Translator; those with tags ask for an alignment."""
        return [Line(sentence.text, align=sentence.has_tags) for sentence in self.sentences]

    def replace(self, translations: Sequence[Translation]) -> Content:
        """Return the document with its sentences replaced by their translations."""
        remaining = iter(translations)
        blocks: list[list[Item]] = []
        for pieces in self._pieces:
            blocks.append([])
            for piece in pieces:
                if isinstance(piece, Sentence):
                    translation = next(remaining)
                    blocks[-1] += place_tags(piece, translation.text, translation.alignment)
                else:
                    blocks[-1].append(piece)
        return self.document.render(blocks)
