"""Text files in which stretches of text stand between others that are kept to the letter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from maskpredict.documents.block import Block, Tag, is_changed


@dataclass(frozen=True)
class PartedText:
    """A text as blocks and what is between them; the sources of texts and tags are strings."""

    parts: Sequence[str | int]
    """What is kept, and numbers of blocks."""
    blocks: Sequence[Block]
    spell: Callable[[str], str] = str
    """Escapes new text as the format needs it."""
    whole: bool = False
    """True to escape a changed block as one text."""

    def render(self, blocks: Sequence[Block]) -> str:
        """As in `Document`."""
        return "".join(part if isinstance(part, str) else self._spelled(part, blocks[part]) for part in self.parts)

    def _spelled(self, number: int, block: Block) -> str:
        if self.whole and is_changed(self.blocks[number], block):
            return self.spell("".join(item.text for item in block))
        block = self.blocks[number] if self.whole else block
        written = (
            item.source or "" if isinstance(item, Tag) or item.source is not None else self.spell(item.text)
            for item in block
        )
        return "".join(written)
