"""Spans of a text that must survive translation unchanged: placeholders, addresses, paths, codes, symbols."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

_EMOJI = "\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u2190-\u21ff\u20e3\ufe0f\u200d\U000e0020-\U000e007f"
_TOP_LEVEL = "com|org|net|info|edu|gov|io|dev|app|eu|de|at|ch|uk|fr|es|it|nl|ro|pl"
_EXTENSIONS = (
    "txt|md|pdf|docx?|odt|rtf|xlsx?|ods|csv|tsv|pptx?|odp|html?|xml|json|ya?ml|toml|ini|cfg|conf|log|sql|py|js|ts|css|"
    "c|h|cpp|rs|go|java|sh|bat|exe|dll|zip|tar|gz|xz|7z|iso|png|jpe?g|gif|svg|webp|mp3|mp4|wav|mkv|epub|bak|tmp"
)
_SYMBOLS = (
    r"</?[A-Za-z!][^<>]*>",  # <title>
    rf"[{_EMOJI}]+(?:[ ][{_EMOJI}]+)*",
)
_NAMES = (
    r"```.+?```|`[^`]+`",  # code
    r"(?:[A-Za-z][A-Za-z0-9+.-]*://|www\.|mailto:)[^\s<>\"„“”»«]*[^\s<>\"'„“”»«.,;:!?)\]}…]",  # https://a.de/b?c=1
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",  # anna@example.com
    rf"(?<![\w@.])(?:[\w-]+\.)+(?:{_TOP_LEVEL})(?![\w-])(?:/[^\s<>\"]*[^\s<>\"'.,;:!?)\]])?",  # example.com/a
    r"\{\{.*?\}\}",  # {{x}}
    r"[$%#]?\{(?:[^{}]|\{[^{}]*\})*\}",  # {name} ${a} {n, plural, one {# file} other {# files}}
    r"</?\d+/?>",  # <0/>
    r"&(?:\w+|\#\d+);",  # &amp;
    r"\[\[?[A-Z][A-Z0-9_]*[A-Z0-9]\]\]?",  # [NAME]
    # %s %(x)d %1$s, but not 50% of
    r"(?<![\w%])%(?:\(\w+\))?(?:\d+\$)?[-+#0]*\d*(?:\.\d+)?(?:hh?|ll?|[Lzjt])?[diouxXeEfFgGcrsp@](?![^\W_])",
    r"%[A-Z][A-Z0-9_]+%",  # %NAME%
    r"(?<!\w)\$[A-Za-z_]\w*|\$\(\w+\)",  # $name
    r"(?<!\w)@\w+|(?<![\w&])#[^\W\d]\w+",  # @name #topic
    r"(?<!\w)[A-Za-z]:\\[^\s\"]*[^\s\".,;:!?)]|\\\\[\w.$\\-]+\w",  # C:\file \\server\share
    r"(?<![\w/.])(?:~|\.\.?)?/(?:[\w.@+-]+/)*[\w.@+-]*[\w@+-]/?",  # /usr/bin
    r"\w[\w.-]*(?:/[\w.-]+)+\.\w{1,5}\b",  # src/main.py
    rf"(?<![\w.])[\w-]+(?:\.[\w-]+)*\.(?:{_EXTENSIONS})(?!\w)",  # main.py
    r"\w*[^\W_]_\w+|\w+(?:\.\w+)*\(\)",  # max_length print()
    r"(?<!\S)--[A-Za-z][\w-]*(?:=\S*\w)?",  # --option=3
)
_DIGITS = (
    r"(?<!\w)[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,3})?(?!\w)",  # IBAN
    r"(?<!\w)(?:\+|00)\d[\d ()/-]{5,}\d|(?<![\w.,])\(?0\d{2,5}\)?[ /-][ ]?\d[\d -]{2,}\d",  # +49 30 1234567
    r"(?<![\w.,])\d+(?:[-:/]\d+){2,}(?!\w)|(?<![\w.,])\d+(?:\.\d+){2,}(?!\w|,\d)",  # 2024-05-01, 1.2.3
    r"(?<![\w.,])\d{5,}(?!\w|[.,]\d)",  # 12345
    r"(?<![\w.,-])(?=[\w-]*\d)[A-Z0-9]*[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+(?!\w)",  # AB-1234
    r"(?<![\w-])[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} \d{1,4}(?!\w)",  # B-XY 4821
    r"(?<!\w)(?=\w*[A-Z]\w*\d|\w*\d\w*[A-Z])[A-Z0-9]{4,}(?!\w)",  # X4711
)
_SPAN = re.compile(f"(?P<symbol>{'|'.join(_SYMBOLS)})|{'|'.join(_NAMES)}|{'|'.join(_DIGITS)}", re.DOTALL)
_COUNT = re.compile(
    r"%(?:\(\w+\))?(?:\d+\$)?[-+#0]*\d*(?:\.\d+)?(?:hh?|ll?|[Lzjt])?[diufg]|[%$#]?\{+\s*(?:n|num\w*|\w*count|total|amount|anzahl|zahl|days|hours|minutes|seconds|years)\s*\}+",
    re.IGNORECASE,
)
"""Placeholders of numbers."""
_HINT = re.compile(rf"[@{{<%$\\/_`#&\[+()]|\d[\d.:A-Z-]|[A-Z]\d|--|\w\.\w|[{_EMOJI}]")
"""Matches in every text with a span, and in few others: it saves plain sentences the search."""
_WORD_BEFORE, _WORD_AFTER, _NO_SPACE = (
    re.compile(r"[\w-]*\w\Z|\w-\Z"),
    re.compile(r"-?\w[\w-]*"),
    re.compile(r"[^\s\w,;]*"),
)
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
"""1.000.000 is a number like any other, which is written otherwise in another language."""


class SpanKind(Enum):
    """Role of a span in its sentence."""

    NAME = "name"
    """Stands for a word, like a placeholder or an address."""
    SYMBOL = "symbol"
    """Stands between the words, like an emoji."""
    COUNT = "count"
    """Stands for a number, like %d."""
    NUMBER = "number"
    """A number that a translation lost."""


@dataclass(frozen=True)
class Span:
    """A part of a text that must not change."""

    start: int
    end: int
    kind: SpanKind = SpanKind.NAME

    def of(self, text: str) -> str:
        """Return the span's part of its text."""
        return text[self.start : self.end]


def find_spans(text: str, is_sayable: Callable[[str], bool]) -> list[Span]:
    """Return the spans of a text that must not change, in order and without overlap.

    `is_sayable` tells whether the model's vocabulary has a character; words and symbols with others are spans.
    """
    spans = []
    if _HINT.search(text):
        spans = [
            Span(match.start(), match.end(), _kind(match))
            for match in _SPAN.finditer(text)
            if not _GROUPED.fullmatch(match[0])
        ]
    unsayable = [character for character in set(text) if not is_sayable(character)]
    if unsayable:
        spans = merged_spans([*spans, *_unsayable_spans(blanked(text, spans), unsayable)])
    return _joined([_whole_word(text, span) for span in spans], text) if spans else spans


def blanked(text: str, spans: Iterable[Span]) -> str:
    """Return the text with its spans blanked out."""
    for span in spans:
        text = text[: span.start] + "_" * (span.end - span.start) + text[span.end :]
    return text


def merged_spans(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, those that overlap as one."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: span.start):
        if merged and span.start < merged[-1].end:
            last = merged.pop()
            kind = span.kind if span.kind is last.kind else SpanKind.NAME
            span = Span(last.start, max(last.end, span.end), kind)
        merged.append(span)
    return merged


def _kind(match: re.Match[str]) -> SpanKind:
    if match["symbol"] is not None:
        return SpanKind.SYMBOL
    return SpanKind.COUNT if _COUNT.fullmatch(match[0]) else SpanKind.NAME


def _unsayable_spans(text: str, unsayable: Sequence[str]) -> list[Span]:
    """Return words with letters or digits that cannot be said, and symbols; within a word, they are part of it."""
    in_words = [character for character in unsayable if unicodedata.category(character)[0] in "LMN"]
    symbols = [character for character in unsayable if character not in in_words]
    spans = []
    if in_words:
        word = rf"\w*[{_escaped(in_words)}]\w*"
        spans += [Span(match.start(), match.end()) for match in re.finditer(rf"{word}(?:\s+{word})*", text)]
    if symbols:
        matches = re.finditer(rf"(\w+)?[{_escaped(symbols)}]+(?(1)(\w+)?)", text)
        spans += [Span(match.start(), match.end()) if match[2] else _symbol(match) for match in matches]
    return spans


def _symbol(match: re.Match[str]) -> Span:
    return Span(match.end(1) if match[1] else match.start(), match.end(), SpanKind.SYMBOL)


def _escaped(characters: Sequence[str]) -> str:
    return "".join(map(re.escape, characters))


def _whole_word(text: str, span: Span) -> Span:
    """Return a name with the letters that it is written together with, as in {count}-fach."""
    if span.kind is SpanKind.SYMBOL:
        return span
    before, after = _WORD_BEFORE.search(text, 0, span.start), _WORD_AFTER.match(text, span.end)
    if before is None and after is None:
        return span
    return Span(before.start() if before else span.start, after.end() if after else span.end)


def _joined(spans: Sequence[Span], text: str) -> list[Span]:
    """Return names with only punctuation between them, as in {hours}:{minutes}, as one."""
    joined: list[Span] = []
    for span in merged_spans(spans):
        are_names = joined and SpanKind.SYMBOL not in (joined[-1].kind, span.kind)
        if are_names and _NO_SPACE.fullmatch(text, joined[-1].end, span.start):
            span = Span(joined.pop().start, span.end)
        joined.append(span)
    return joined
