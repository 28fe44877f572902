"""Subtitles in SubRip (.srt) and WebVTT (.vtt): numbers, times, styles and notes stay; each cue is a block."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from maskpredict.documents.block import Block, Item, Tag, TagKind, Text
from maskpredict.documents.document import Document
from maskpredict.documents.encoded import read_encoded
from maskpredict.documents.parted import PartedText

LONG_LINE = 42
"""Characters in a line from which on a cue that had several lines gets a second one again."""
_CUE = re.compile(r"^(?P<time>[^\n]*-->[^\n]*\n)(?P<text>(?:[^\n]*\S[^\n]*(?:\n|\Z))+)", re.MULTILINE)
_TAG = re.compile(r"<(?P<slash>/?)(?P<name>[a-zA-Z]*)[^<>\n]*>|\{\\[^{}\n]*\}")
_LINE_END = re.compile(r"[ \t]*\r?\n")
_NEW_SPEAKER = re.compile(r"\s*[-–—]")


class Subtitles:
    """Cues of text and what is between them."""

    def __init__(self, text: str) -> None:
        self._escapes = text.startswith("WEBVTT")
        parts: list[str | int] = []
        blocks: list[Block] = []
        self._lines: list[int] = []
        """Lines of each cue."""
        position = 0
        for cue in _CUE.finditer(text):
            end = cue.start("text") + len(cue["text"].rstrip())
            parts += [text[position : cue.start("text")], len(blocks)]
            source = text[cue.start("text") : end]
            blocks.append(list(_items(source, references=self._escapes)))
            self._lines.append(source.count("\n") + 1)
            position = end
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._text = PartedText([*parts, text[position:]], blocks, self._spell)
        self.blocks = self._text.blocks
        """As in `Document`."""

    def render(self, blocks: Sequence[Block]) -> str:
        """As in `Document`."""
        wrapped = [self._wrapped(number, block) for number, block in enumerate(blocks)]
        return self._text.render(wrapped)

    def _spell(self, text: str) -> str:
        return html.escape(text, quote=False) if self._escapes else text

    def _wrapped(self, number: int, block: Block) -> Block:
        """Return a cue that became one long line in two."""
        text = "".join(item.text for item in block)
        if self._lines[number] == 1 or len(text) <= LONG_LINE or any(item.source == self._newline for item in block):
            return block
        middle = min(
            (match.start() for match in re.finditer(" ", text)),
            key=lambda place: abs(place - len(text) / 2),
            default=-1,
        )
        items: list[Item] = []
        position = 0
        for item in block:
            offset = middle - position
            if isinstance(item, Text) and item.source is None and 0 <= offset < len(item.text):
                items += [item.cut(0, offset), Text(" ", self._newline), item.cut(offset + 1, len(item.text))]
            else:
                items.append(item)
            position += len(item.text)
        return items


def read(content: bytes) -> Document[bytes]:
    """Read an .srt or .vtt file."""
    return read_encoded(content, Subtitles)


def _items(source: str, *, references: bool) -> Iterator[Item]:
    """Yield the text of a cue and its tags; a line break is a space unless someone else begins to speak."""
    tags = list(_TAG.finditer(source))
    pairs = _pairs(tags)
    position = 0
    for number, tag in enumerate(tags):
        yield from _texts(source[position : tag.start()], references=references)
        kind, pair = pairs.get(number, (TagKind.POINT, -1))
        yield Tag(kind, tag[0], pair)
        position = tag.end()
    yield from _texts(source[position:], references=references)


def _pairs(tags: Sequence[re.Match[str]]) -> dict[int, tuple[TagKind, int]]:
    """Return kind and pair of the tags that are well nested."""
    pairs: dict[int, tuple[TagKind, int]] = {}
    opened: list[int] = []
    for number, tag in enumerate(tags):
        if tag["name"] and not tag["slash"]:
            opened.append(number)
        elif tag["name"] and opened and tags[opened[-1]]["name"] == tag["name"]:
            start = opened.pop()
            pairs[start], pairs[number] = (TagKind.OPEN, start), (TagKind.CLOSE, start)
    return pairs


def _texts(source: str, *, references: bool) -> Iterator[Text]:
    position = 0
    for match in _LINE_END.finditer(source):
        yield from _line(source[position : match.start()], references=references)
        speaker = _NEW_SPEAKER.match(source, match.end())
        yield Text("\n" if speaker else " ", match[0])
        position = match.end()
    yield from _line(source[position:], references=references)


def _line(source: str, *, references: bool) -> Iterator[Text]:
    if source:
        text = html.unescape(source) if references else source
        yield Text(text, source)
