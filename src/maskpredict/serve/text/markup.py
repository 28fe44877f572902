"""Splits HTML, valid or not, into text to translate and markup to copy unchanged.

The text between two tags is one part, even if the tags are inside a sentence. That keeps every tag in place, at the
price of less context for the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import accumulate, pairwise

_UNTRANSLATED = frozenset({"script", "style", "pre", "code", "kbd", "samp", "textarea", "template", "svg", "math"})
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_BROKEN_TAG = re.compile(r"<[a-zA-Z/!?]")


@dataclass(frozen=True)
class MarkupPart:
    """Text or markup, as written in the source."""

    source: str
    """Verbatim, character references included."""
    is_text: bool
    """True for text to translate."""


def split_markup(markup: str) -> list[MarkupPart]:
    """Split HTML into parts; joined together, they are the source again. No two texts are adjacent."""
    finder = _TextFinder(markup)
    try:
        finder.feed(markup)
        finder.close()
    except AssertionError:
        finder.copy_remainder()
    return list(finder.parts())


class _TextFinder(HTMLParser):
    """Records where each token of the HTML begins, so that parts can be sliced from the source unchanged."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=False)
        self._markup = markup
        self._line_starts = [0, *accumulate(len(line) + 1 for line in markup.split("\n"))]
        self._starts: list[tuple[int, bool]] = []
        # The open untranslated element, and open elements of the same name inside it.
        self._untranslated: list[str] = []

    def parts(self) -> Iterator[MarkupPart]:
        """Yield all parts, with adjacent texts joined."""
        # The parser may skip a character, such as a final `&`: each token extends to the start of the next.
        edges = [0, *(start for start, _ in self._starts[1:]), len(self._markup)]
        text, is_broken = "", False
        for (start, end), (_, is_text) in zip(pairwise(edges), self._starts, strict=False):
            # The parser calls a tag without `>` text. It is a broken tag, up to the next tag or the end.
            is_broken = is_text and (is_broken or _BROKEN_TAG.match(self._markup, start) is not None)
            if is_text and not is_broken:
                text += self._markup[start:end]
                continue
            if text:
                yield MarkupPart(text, True)
            text = ""
            yield MarkupPart(self._markup[start:end], False)
        if text:
            yield MarkupPart(text, True)

    def copy_remainder(self) -> None:
        """Treat everything from here on as markup: the parser cannot continue after input such as `<![=`."""
        self._starts.append((self._markup.rfind("<!", 0, self._offset() + 1), False))

    def _offset(self) -> int:
        line, column = self.getpos()
        return self._line_starts[line - 1] + column

    def _record(self, *, is_text: bool = False) -> None:
        self._starts.append((self._offset(), is_text and not self._untranslated))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._record()
        if self._untranslated:
            if tag == self._untranslated[0]:
                self._untranslated.append(tag)
        elif tag in _UNTRANSLATED or (("translate", "no") in attrs and tag not in _VOID):
            self._untranslated.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._record()

    def handle_endtag(self, tag: str) -> None:
        self._record()
        if self._untranslated and tag == self._untranslated[0]:
            self._untranslated.pop()

    def handle_data(self, data: str) -> None:
        self._record(is_text=True)

    def handle_entityref(self, name: str) -> None:
        self._record(is_text=True)

    def handle_charref(self, name: str) -> None:
        self._record(is_text=True)

    def handle_comment(self, data: str) -> None:
        self._record()

    def handle_decl(self, decl: str) -> None:
        self._record()

    def handle_pi(self, data: str) -> None:
        self._record()

    def unknown_decl(self, data: str) -> None:
        self._record()
