"""Markdown (.md): paragraphs, headings, list items and table cells; code, addresses and HTML blocks stay.

The library markdown-it-py says which lines have text and which marks in them are emphasis, links and so on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from maskpredict.documents.block import Block, Item, Tag, TagKind, Text, as_code
from maskpredict.documents.document import Document
from maskpredict.documents.encoded import read_encoded
from maskpredict.documents.parted import PartedText

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_LINE_END = re.compile(r"\r\n|\n|\r")
_LINK_END = re.compile(
    r"\](?:\((?:[^()\\\"']|\\.|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\))*\)|\[[^\]]*\])?", re.DOTALL
)
_MARK = re.compile(r"([\\`*_\[\]<]|^[#>+-](?=\s))")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]")
_EXTENSION = re.compile(rf"(^{_FOOTNOTE.pattern}:|{_FOOTNOTE.pattern}|^\[[ xX]\](?=\s))")
"""A footnote's mark, in front of its text with a colon, or the box of a task."""


class _Mismatch(Exception):
    """The source of a text is not where its tokens say; it stays as it is."""


def read(content: bytes) -> Document[bytes]:
    """Read an .md file."""
    return read_encoded(content, _parted)


def _parted(source: str) -> PartedText:
    front = _FRONT_MATTER.match(source)
    begin = front.end() if front else 0
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
    lines = [begin, *(match.end() for match in _LINE_END.finditer(source, begin)), len(source)]
    parts: list[str | int] = []
    blocks: list[Block] = []
    position = begin
    for token in parser.parse(source[begin:]):
        if token.type != "inline" or token.map is None or not token.content.strip():
            continue
        first, last = token.map
        try:
            block, start, end = _block(source, max(position, lines[first]), lines[last], token)
        except _Mismatch:
            continue
        parts += [source[position:start], len(blocks)]
        blocks.append(block)
        position = end
    return PartedText([source[:begin], *parts, source[position:]], blocks, _spelled)


def _block(source: str, start: int, end: int, token: Token) -> tuple[list[Item], int, int]:
    """Return the block of an inline token, and where it is in the source between `start` and `end`."""
    # The content lacks what the source has at the beginning of each line, such as the `>` of a quotation.
    joints: list[tuple[int, str]] = []
    position = begin = start
    size = 0
    for number, line in enumerate(token.content.split("\n")):
        place = source.find(line, position, end)
        if place < 0:
            raise _Mismatch
        if number == 0:
            begin = place
        else:
            joints.append((size - 1, source[position:place]))
        position = place + len(line)
        size += len(line) + 1
    return list(_Inline(token.content, dict(joints)).items(token.children or [])), begin, position


class _Inline:
    """Goes through the source of a text along its tokens."""

    def __init__(self, content: str, joints: dict[int, str]) -> None:
        self._content, self._joints = content, joints
        self._position = 0
        self._open: list[int] = []
        self._count = 0

    def items(self, tokens: list[Token]) -> Iterator[Item]:
        """Yield text and tags."""
        in_point = False
        for token in tokens:
            if in_point:
                in_point = token.type != "link_close"
            elif token.type == "link_open" and (point := self._point(token)):
                in_point = True
                yield point
            elif token.type == "text":
                yield from self._text(token.content)
            elif token.type == "text_special":
                yield Text(token.content, self._take(token.markup))
            elif token.type in ("softbreak", "hardbreak"):
                yield self._line_break(token.type)
            elif token.type == "code_inline":
                yield Tag(TagKind.POINT, self._take_code(token), text=as_code(token.content))
            elif token.type == "html_inline":
                yield Tag(TagKind.POINT, self._take(token.content))
            elif token.type == "image":
                yield Tag(TagKind.POINT, self._take_image(token))
            elif token.nesting == 1:
                self._open.append(self._count)
                self._count += 1
                yield Tag(TagKind.OPEN, self._take("[" if token.type == "link_open" else token.markup), self._open[-1])
            elif token.nesting == -1:
                end = self._take_link_end() if token.type == "link_close" else self._take(token.markup)
                yield Tag(TagKind.CLOSE, end, self._open.pop())
            else:
                raise _Mismatch
        if self._content[self._position :].strip():
            raise _Mismatch
        if self._position < len(self._content):
            yield Text(self._content[self._position :], self._content[self._position :])

    def _take(self, source: str) -> str:
        if not self._content.startswith(source, self._position):
            raise _Mismatch
        self._position += len(source)
        return source

    def _text(self, text: str) -> Iterator[Item]:
        for number, part in enumerate(_EXTENSION.split(self._take(text))):
            if number % 2:
                yield Tag(TagKind.POINT, part)
            elif part:
                yield Text(part, part)

    def _line_break(self, kind: str) -> Text:
        end = self._content.find("\n", self._position)
        marks = self._content[self._position : end]
        if end < 0 or marks.strip(" \\"):
            raise _Mismatch
        self._position = end + 1
        while self._content[self._position : self._position + 1] == " ":
            self._position += 1
        source = marks + self._joints[end] + self._content[end + 1 : self._position]
        return Text(" " if kind == "softbreak" else "\n", source)

    def _take_code(self, token: Token) -> str:
        close = self._content.find(token.markup, self._position + len(token.markup))
        while close >= 0 and self._content[close + len(token.markup) : close + len(token.markup) + 1] == "`":
            close = self._content.find(token.markup, close + len(token.markup) + 1)
        if close < 0 or "\n" in self._content[self._position : close]:
            raise _Mismatch
        return self._take(self._content[self._position : close + len(token.markup)])

    def _take_image(self, token: Token) -> str:
        start = self._position
        self._take("![")
        self._take(token.content)
        self._take_link_end()
        return self._content[start : self._position]

    def _take_link_end(self) -> str:
        match = _LINK_END.match(self._content, self._position)
        if match is None or "\n" in match[0]:
            raise _Mismatch
        return self._take(match[0])

    def _point(self, link: Token) -> Tag | None:
        """Return an address, or a footnote's mark whose text is an address; None for a link around text."""
        if link.markup == "autolink":
            return self._address()
        footnote = _FOOTNOTE.match(self._content, self._position)
        return Tag(TagKind.POINT, self._take(footnote[0])) if footnote else None

    def _address(self) -> Tag:
        end = self._content.find(">", self._position)
        source = self._take(self._content[self._position : end + 1])
        return Tag(TagKind.POINT, source, text=source[1:-1])


def _spelled(text: str) -> str:
    """Escape what Markdown would take for a mark, but not inside a word or number."""
    return _MARK.sub(r"\\\1", text)
