"""The tags of a sentence as a tree: pairs of tags and points, inside each other."""

from __future__ import annotations

from dataclasses import dataclass, field

from maskpredict.documents.block import Sentence, Tag, TagKind


@dataclass
class Mark:
    """A pair of tags or a point, over a stretch of the source."""

    start: int
    end: int
    open: Tag | None = None
    close: Tag | None = None
    point: Tag | None = None
    inner: list[Mark] = field(default_factory=list)
    begins_before: bool = False
    """Opened in an earlier sentence."""
    ends_after: bool = False
    """Closed in a later sentence."""

    @property
    def is_point(self) -> bool:
        """True if it is around no text of this sentence."""
        return self.start == self.end and not (self.begins_before or self.ends_after)


def tag_tree(sentence: Sentence) -> Mark:
    """Return the marks of a sentence, inside a mark over all of it."""
    text, size = sentence.text, len(sentence.text)
    opened = {item.pair for item in sentence.items if isinstance(item, Tag) and item.kind is TagKind.OPEN}
    closes = [item for item in sentence.items if isinstance(item, Tag) and item.kind is TagKind.CLOSE]
    root = Mark(0, size)
    stack = [root]
    for _ in (close for close in closes if close.pair not in opened):
        stack[-1].inner.append(Mark(0, size, begins_before=True))
        stack.append(stack[-1].inner[-1])
    position = 0
    for item in sentence.items:
        if isinstance(item, Tag) and item.kind is TagKind.OPEN:
            stack[-1].inner.append(Mark(position, size, open=item, ends_after=True))
            stack.append(stack[-1].inner[-1])
        elif isinstance(item, Tag) and item.kind is TagKind.CLOSE:
            mark = stack.pop()
            mark.close, mark.end, mark.ends_after = item, position, False
            if not any(map(str.isalnum, text[mark.start : position])) and not mark.begins_before:
                mark.start = position  # around a space or the like, which a translation may not have
        elif isinstance(item, Tag):
            stack[-1].inner.append(Mark(position, position + len(item.text), point=item))
        position += len(item.text)
    return root
