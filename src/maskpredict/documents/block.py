"""Blocks of text with tags in them, such as a paragraph with a link, cut into sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from maskpredict.runtime.sentences import sentence_spans


class TagKind(Enum):
    """Kind of a tag inside a text."""

    OPEN = "open"
    CLOSE = "close"
    POINT = "point"
    """Stands at a place, such as an image or a footnote's number."""


@dataclass(frozen=True)
class Tag:
    """A tag inside a text."""

    kind: TagKind
    source: Any
    """Format-specific: what to write for it."""
    pair: int = -1
    """Number that an opening and a closing tag share."""
    text: str = ""
    """Text of a point, such as a piece of code: the translator sees it, and it comes back unchanged."""


@dataclass(frozen=True)
class Text:
    """Text as a reader sees it."""

    text: str
    source: Any = None
    """Format-specific: how the file writes it; None for text that is not from there."""

    def cut(self, start: int, end: int) -> Text:
        """Return a part of the text."""
        if end - start == len(self.text):
            return self
        is_literal = isinstance(self.source, str) and len(self.source) == len(self.text)
        return Text(self.text[start:end], self.source[start:end] if is_literal else None)


def as_code(text: str) -> str:
    """Return the text of a point in backquotes, between which translations change nothing."""
    return f"`{text}`" if text.strip() and "`" not in text else text


Item = Text | Tag
Block = Sequence[Item]


@dataclass(frozen=True)
class Sentence:
    """A sentence to translate, with the tags inside it."""

    items: tuple[Item, ...]

    @property
    def text(self) -> str:
        """The sentence without its tags."""
        return "".join(item.text for item in self.items)

    @property
    def has_tags(self) -> bool:
        """True if the translation needs an alignment, to put the tags in."""
        return any(isinstance(item, Tag) for item in self.items)


def split_block(block: Block, language: str) -> Iterator[Sentence | Item]:
    """Yield the sentences of a block, and what stands between them; tags at the edges of a sentence are outside."""
    # The text of a point neither ends a sentence nor is a reason to translate one.
    visible = "".join("0" * len(item.text) if isinstance(item, Tag) else item.text for item in block)
    spans = list(sentence_spans(visible, language))
    current, inside = 0, list[Item]()
    for start, item in _cut(block, [edge for span in spans for edge in span]):
        while current < len(spans) and start >= spans[current][1]:
            current += 1
            if inside:
                yield Sentence(tuple(inside))
                inside = []
        first = spans[current][0] if current < len(spans) else len(visible) + 1
        if start >= first + (not item.text):
            inside.append(item)
        else:
            yield item
    if inside:
        yield Sentence(tuple(inside))


def _cut(block: Block, edges: Sequence[int]) -> Iterator[tuple[int, Item]]:
    """Yield the items of a block, each with its place in the text; those of text are cut at the edges."""
    remaining = iter([*edges, -1])
    edge, start = next(remaining), 0
    for item in block:
        offset, size = 0, len(item.text)
        while isinstance(item, Text) and offset < size:
            while 0 <= edge <= start + offset:
                edge = next(remaining)
            stop = min(size, edge - start) if edge >= 0 else size
            yield start + offset, item.cut(offset, stop)
            offset = stop
        if isinstance(item, Tag):
            yield start, item
        start += size


def is_changed(old: Block, new: Block) -> bool:
    """Return whether a block differs from another in more than where its texts are cut."""
    return _joined(old) != _joined(new)


def _joined(block: Block) -> list[Item]:
    joined: list[Item] = []
    for item in block:
        last = joined[-1] if joined else None
        if isinstance(item, Text) and isinstance(last, Text) and not (_has_element(item) or _has_element(last)):
            joined[-1] = Text(last.text + item.text)
        elif isinstance(item, Tag) or _has_element(item):
            joined.append(item)
        elif item.text:
            joined.append(Text(item.text))
    return joined


def _has_element(text: Text) -> bool:
    return text.source is not None and not isinstance(text.source, str)
