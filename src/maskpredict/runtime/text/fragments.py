"""Lines cut into fragments, whose words are translated together: at symbols, and where a line is too long."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from maskpredict.runtime.lines import Line
from maskpredict.runtime.splitting import split_text
from maskpredict.runtime.text.letters import Letters
from maskpredict.runtime.text.spans import Span, SpanKind, blanked
from maskpredict.tokenizer import Tokenizer

_LETTER = re.compile(r"[^\W\d_]")
_EDGES = re.compile(r"([\W_]*)(.*?)(\s*[(\[„“\"»«]*\s*)", re.DOTALL)
_BETWEEN_CLAUSES = ",; \t\u00a0"
MAX_TOGETHER, PART_OF_LONG_LINE = 96, 48
"""Subwords of the longest line that is translated as a whole, and of the parts that a longer one is split into."""


@dataclass(frozen=True)
class Fragment:
    """Words of a line that are translated together."""

    line: Line
    spans: Sequence[Span]
    letters: Letters

    @property
    def text(self) -> str:
        """The words as they are in the source."""
        return self.line.source

    @property
    def is_free(self) -> bool:
        """True unless a template gives the form of the translation."""
        return not isinstance(self.line.template, str)


def fragments_of(
    line: Line, spans: Sequence[Span], letters: Letters, language: str, tokenizer: Tokenizer
) -> Iterator[str | Fragment]:
    """Yield the fragments of a line, and the symbols, spaces and text without letters between them."""
    text, begin = line.source, 0
    symbols = [span for span in spans if span.kind is SpanKind.SYMBOL]
    for symbol in [*symbols, Span(len(text), len(text))]:
        before, core, after = edges(text[begin : symbol.start]) if symbols else ("", text, "")
        start = begin + len(before)
        yield before
        parts = _short_parts(blanked(text, spans)[start : start + len(core)], language, tokenizer)
        for part in parts:
            size = len(part.rstrip(_BETWEEN_CLAUSES if part is not parts[-1] else None))
            inner = [
                Span(span.start - start, span.end - start, span.kind)
                for span in spans
                if start <= span.start and span.end <= start + size
            ]
            words = text[start : start + size]
            yield Fragment(replace(line, source=words), inner, letters) if has_letters(part) else words
            yield text[start + size : start + len(part)]
            start += len(part)
        yield after + symbol.of(text)
        begin = symbol.end


def _short_parts(text: str, language: str, tokenizer: Tokenizer) -> list[str]:
    # A subword has a character at least, which saves tokenizing most lines here.
    if len(text) <= MAX_TOGETHER or len(tokenizer.encode(text)) <= MAX_TOGETHER:
        return [text]
    return split_text(text, language, tokenizer.encode, PART_OF_LONG_LINE)


def edges(text: str) -> tuple[str, str, str]:
    """Return the marks and spaces before the words of a text, the words, and an opening bracket or space after them."""
    match = _EDGES.fullmatch(text)
    assert match is not None
    return match[1], match[2], match[3]


def has_letters(text: str) -> bool:
    """Return True if there is something to translate."""
    return _LETTER.search(text) is not None
