"""HTML, valid or not: blocks of text with inline tags; everything else stays as it is, to the letter.

Sentences do not go beyond elements such as paragraphs, list items and table cells. Scripts, styles, preformatted text
and elements with `translate="no"` are left alone; code inside a sentence comes back unchanged.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from maskpredict.documents.block import Block, Item, Tag, TagKind, Text, as_code
from maskpredict.documents.html_tokens import HtmlToken, TokenKind, html_tokens

_INLINE = frozenset(
    """a abbr acronym b bdi bdo big cite code data del dfn em font i img input ins kbd label mark nobr q s samp small
    span strike strong sub sup time tt u var wbr""".split()  # noqa: SIM905
)
_UNTRANSLATED = frozenset(
    "script style pre code kbd samp textarea template svg math xmp noembed noframes".split()  # noqa: SIM905
)
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())  # noqa: SIM905
_READABLE = ("alt", "title", "placeholder")
"""Attributes with text for readers."""
_REFERENCE = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[a-zA-Z][a-zA-Z0-9]*;?)")
_SPACES = str.maketrans("\t\n\f\r", "    ")
_LETTER = re.compile(r"[^\W\d_]")

_Markup = Sequence[str | int]
"""Markup to copy, and numbers of blocks that belong inside it."""


class HtmlMarkup:
    """HTML as text and what is around it."""

    def __init__(self, markup: str, *, attributes: bool = False) -> None:
        """With `attributes`, those with text for readers are blocks, too: alt, title and placeholder."""
        reader = _Reader(attributes=attributes)
        for token in html_tokens(markup):
            reader.read(token)
        reader.end_block()
        self.blocks: Sequence[Block] = reader.blocks
        """As in `Document`."""
        self._parts, self._values = reader.parts, reader.values

    def render(self, blocks: Sequence[Block]) -> str:
        """As in `Document`."""
        return "".join(self._rendered(self._parts, blocks))

    def _rendered(self, parts: _Markup, blocks: Sequence[Block]) -> Iterator[str]:
        for part in parts:
            if isinstance(part, str):
                yield part
                continue
            for item in blocks[part]:
                if isinstance(item, Tag):
                    yield from self._rendered(item.source, blocks)
                else:
                    yield html.escape(item.text, quote=part in self._values) if item.source is None else item.source


@dataclass
class _Skipped:
    """An element that is not translated, while it is read."""

    name: str
    tokens: list[HtmlToken]
    depth: int = 1
    """Open elements of that name."""


class _Reader:
    """Sorts tokens into blocks and markup."""

    def __init__(self, *, attributes: bool) -> None:
        self.attributes = attributes
        self.blocks: list[list[Item]] = []
        self.parts: list[str | int] = []
        self.values: set[int] = set()
        """Numbers of the blocks that are values of attributes."""
        self._block: list[Item] = []
        self._open: list[tuple[str, int]] = []
        """Names of open inline elements, and where their tags are in the block."""
        self._open_names: Counter[str] = Counter()
        self._skipped: _Skipped | None = None

    def read(self, token: HtmlToken) -> None:
        """Add the next token."""
        if self._skipped is not None:
            self._skip(token)
        elif token.kind is TokenKind.TEXT:
            self._block += _texts(token.source)
        elif token.kind is TokenKind.START and token.name not in _VOID and _is_untranslated(token):
            self._skipped = _Skipped(token.name, [token])
        elif token.kind is TokenKind.OTHER:
            self._block.append(Tag(TagKind.POINT, (token.source,)))
        elif token.name in _INLINE:
            self._add_inline(token)
        else:
            self.end_block()
            self.parts += self._markup(token)

    def end_block(self) -> None:
        """End the block: a sentence does not go on after this."""
        if self._skipped is not None:
            self._add_skipped()
        if any(isinstance(item, Text) or item.text for item in self._block):
            self.parts.append(len(self.blocks))
            self.blocks.append(self._block)
        else:
            self.parts += [part for item in self._block if isinstance(item, Tag) for part in item.source]
        self._block, self._open = [], []
        self._open_names.clear()

    def _add_inline(self, token: HtmlToken) -> None:
        number = len(self._block)
        tag = Tag(TagKind.POINT, self._markup(token))
        self._block.append(tag)
        if token.kind is TokenKind.START and token.name not in _VOID and not token.source.endswith("/>"):
            self._open.append((token.name, number))
            self._open_names[token.name] += 1
        elif token.kind is TokenKind.END and self._open_names[token.name]:
            start = self._close(token.name)
            opening = self._block[start]
            assert isinstance(opening, Tag)
            self._block[start] = replace(opening, kind=TagKind.OPEN, pair=start)
            self._block[number] = replace(tag, kind=TagKind.CLOSE, pair=start)

    def _close(self, name: str) -> int:
        """Return where the last open element of that name begins; those inside it that are still open stay points."""
        while True:
            closed, start = self._open.pop()
            self._open_names[closed] -= 1
            if closed == name:
                return start

    def _skip(self, token: HtmlToken) -> None:
        skipped = self._skipped
        assert skipped is not None
        skipped.tokens.append(token)
        if token.name == skipped.name:
            skipped.depth += 1 if token.kind is TokenKind.START else -1
            if skipped.depth == 0:
                self._add_skipped()

    def _add_skipped(self) -> None:
        skipped, self._skipped = self._skipped, None
        assert skipped is not None
        source = "".join(token.source for token in skipped.tokens)
        if skipped.name in _INLINE:
            text = "".join(token.source for token in skipped.tokens if token.kind is TokenKind.TEXT)
            self._block.append(Tag(TagKind.POINT, (source,), text=as_code(" ".join(html.unescape(text).split()))))
        else:
            self.end_block()
            self.parts.append(source)

    def _markup(self, token: HtmlToken) -> _Markup:
        """Return a tag, with blocks in place of the values of attributes that are to be translated."""
        if not self.attributes or token.kind is not TokenKind.START:
            return (token.source,)
        parts: list[str | int] = []
        position = 0
        for name, attribute in token.attributes.items():
            value = token.source[attribute.start : attribute.end]
            if name in _READABLE and _LETTER.search(value) and token.source[attribute.start - 1] in "\"'":
                parts += [token.source[position : attribute.start], len(self.blocks)]
                self.values.add(len(self.blocks))
                self.blocks.append(list(_texts(value)))
                position = attribute.end
        return (*parts, token.source[position:])


def _is_untranslated(token: HtmlToken) -> bool:
    if token.name in _UNTRANSLATED:
        return True
    translate = token.attributes.get("translate")
    return translate is not None and translate.value.lower() == "no"


def _texts(source: str) -> Iterator[Text]:
    """Yield text as a reader sees it, with line breaks as spaces; character references are texts of their own."""
    position = 0
    for match in _REFERENCE.finditer(source):
        text = html.unescape(match[0])
        if text != match[0]:
            if position < match.start():
                yield _plain(source[position : match.start()])
            yield Text(text.translate(_SPACES), match[0])
            position = match.end()
    if position < len(source):
        yield _plain(source[position:])


def _plain(source: str) -> Text:
    return Text(source.translate(_SPACES), source)
