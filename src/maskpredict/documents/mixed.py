"""Paragraphs of XML in which text and elements are mixed, as in OpenDocument and XLIFF."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property

from lxml import etree

from maskpredict.documents.block import Block, Item, Tag, TagKind, Text
from maskpredict.documents.package import Element


@dataclass(frozen=True)
class MixedMarkup:
    """Names of the elements inside a paragraph, each with its namespace; all others stand at a place as they are."""

    around: frozenset[str]
    """Elements around text that belongs to the sentence, such as formats and links."""
    breaks: frozenset[str] = frozenset()
    """Elements beyond which no sentence goes."""
    spaces: frozenset[str] = frozenset()
    """Elements that stand for spaces."""
    collapses: bool = False
    """True if line breaks in the text are spaces."""


class MixedParagraph:
    """A paragraph of mixed content."""

    def __init__(self, element: Element, markup: MixedMarkup, target: Element | None = None) -> None:
        """`target` is the element that a translation goes into, if that is another one."""
        self._element, self._markup, self._target = element, markup, target
        self._payloads: list[Element] = []

    @cached_property
    def block(self) -> Block:
        """As in `Paragraph`; the source of a tag is the number of its element."""
        return list(self._items(self._element))

    def fill(self, block: Block) -> None:
        """As in `Paragraph`."""
        target = self._element if self._target is None else self._target
        copied = target is not self._element
        _ = self.block  # numbers the elements, before they move
        for child in list(target):
            target.remove(child)
        target.text = None
        parents = [target]
        for item in block:
            if isinstance(item, Text) and item.source is None:
                _append_text(parents[-1], item.text)
            elif isinstance(item, Tag) and item.kind is TagKind.CLOSE:
                parents.pop()
            else:
                element = self._payloads[item.source]
                if isinstance(item, Tag) and item.kind is TagKind.OPEN:
                    element = etree.Element(element.tag, dict(element.attrib), nsmap=element.nsmap)
                    parents[-1].append(element)
                    parents.append(element)
                else:
                    element = deepcopy(element) if copied else element
                    element.tail = None
                    parents[-1].append(element)

    def _items(self, parent: Element) -> Iterator[Item]:
        yield from self._texts(parent.text)
        for child in parent:
            number = len(self._payloads)
            self._payloads.append(child)
            if child.tag in self._markup.around:
                yield Tag(TagKind.OPEN, number, number)
                yield from self._items(child)
                yield Tag(TagKind.CLOSE, number, number)
            elif child.tag in self._markup.breaks:
                yield Text("\n", number)
            elif child.tag in self._markup.spaces:
                yield Text(" ", number)
            else:
                yield Tag(TagKind.POINT, number)
            yield from self._texts(child.tail)

    def _texts(self, text: str | None) -> Iterator[Text]:
        if text:
            yield Text(" ".join(text.split("\n")) if self._markup.collapses else text)


def _append_text(parent: Element, text: str) -> None:
    """Add text at the end of an element."""
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
