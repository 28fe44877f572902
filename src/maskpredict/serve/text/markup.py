"""Where the text is in a piece of HTML, however broken: the rest is never rewritten, only copied.

Each stretch of text between two tags is text of its own, also where the tags stand inside a sentence. That keeps every
tag where it was, at the price of less context for the model.
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
class Stretch:
    """A part of the source."""

    source: str
    """As it was written, character references included."""
    is_text: bool
    """True for text that is to be translated."""


def stretches(markup: str) -> list[Stretch]:
    """The source in parts which, put together again, are the source; no two texts stand side by side."""
    finder = _Finder(markup)
    try:
        finder.feed(markup)
        finder.close()
    except AssertionError:
        finder.give_up()
    return list(finder.found())


class _Finder(HTMLParser):
    """Notes where each thing begins; what it is made of is then read from the source."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=False)
        self._markup = markup
        self._line_starts = [0, *accumulate(len(line) + 1 for line in markup.split("\n"))]
        self._begins: list[tuple[int, bool]] = []
        # The untranslated element that is open, and those of the same name inside it.
        self._inside: list[str] = []

    def found(self) -> Iterator[Stretch]:
        """Everything that was noted, neighbouring texts as one."""
        # The parser may pass over a character, such as a last `&`: each thing reaches to where the next begins.
        edges = [0, *(begin for begin, _ in self._begins[1:]), len(self._markup)]
        text, is_broken = "", False
        for (begin, end), (_, is_text) in zip(pairwise(edges), self._begins, strict=False):
            # What the parser calls text because its `>` never comes is a tag all the same, to the next one or the end.
            is_broken = is_text and (is_broken or _BROKEN_TAG.match(self._markup, begin) is not None)
            if is_text and not is_broken:
                text += self._markup[begin:end]
                continue
            if text:
                yield Stretch(text, True)
            text = ""
            yield Stretch(self._markup[begin:end], False)
        if text:
            yield Stretch(text, True)

    def give_up(self) -> None:
        """Take the rest as it is: the parser knows no way on from things like `<![=`."""
        self._begins.append((self._markup.rfind("<!", 0, self._offset() + 1), False))

    def _offset(self) -> int:
        line, column = self.getpos()
        return self._line_starts[line - 1] + column

    def _note(self, *, is_text: bool = False) -> None:
        self._begins.append((self._offset(), is_text and not self._inside))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note()
        if self._inside:
            if tag == self._inside[0]:
                self._inside.append(tag)
        elif tag in _UNTRANSLATED or (("translate", "no") in attrs and tag not in _VOID):
            self._inside.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note()

    def handle_endtag(self, tag: str) -> None:
        self._note()
        if self._inside and tag == self._inside[0]:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        self._note(is_text=True)

    def handle_entityref(self, name: str) -> None:
        self._note(is_text=True)

    def handle_charref(self, name: str) -> None:
        self._note(is_text=True)

    def handle_comment(self, data: str) -> None:
        self._note()

    def handle_decl(self, decl: str) -> None:
        self._note()

    def handle_pi(self, data: str) -> None:
        self._note()

    def unknown_decl(self, data: str) -> None:
        self._note()
