"""Plain text: one block, whose lines are sentences of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maskpredict.documents.block import Block, Text


@dataclass(frozen=True)
class PlainText:
    """A text without markup."""

    text: str

    @property
    def blocks(self) -> Sequence[Block]:
        """As in `Document`."""
        return [[Text(self.text)]]

    def render(self, blocks: Sequence[Block]) -> str:
        """As in `Document`."""
        return "".join(item.text for block in blocks for item in block)
