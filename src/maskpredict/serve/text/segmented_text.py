"""Plain text or HTML as sentences to translate and everything between them, which stays unchanged."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from maskpredict.serve.text.markup import MarkupPart, split_markup
from maskpredict.serve.text.sentences import Segment, split_sentences


@dataclass(frozen=True)
class SegmentedText:
    """A text split into sentences and the segments between them."""

    segments: tuple[Segment, ...]
    is_html: bool = False

    @classmethod
    def from_text(cls, text: str, language: str) -> SegmentedText:
        """Split plain text into sentences."""
        return cls(tuple(split_sentences(text, language)))

    @classmethod
    def from_sentence(cls, text: str, language: str) -> SegmentedText:
        """Take plain text as one sentence, without splitting it."""
        return cls((Segment(text, True),))

    @classmethod
    def from_html(cls, markup: str, language: str) -> SegmentedText:
        """Split the text between the tags of HTML into sentences; the markup stays unchanged."""
        return cls(tuple(_html_segments(split_markup(markup), language)), is_html=True)

    @classmethod
    def untranslated(cls, text: str) -> SegmentedText:
        """Keep the whole text as it is: it has no sentences to translate."""
        return cls((Segment(text, False),))

    @property
    def sentences(self) -> list[str]:
        """The sentences to translate, in order."""
        return [segment.text for segment in self.segments if segment.is_sentence]

    def replace_sentences(self, translations: Sequence[str]) -> str:
        """Return the text with each sentence replaced by its translation."""
        remaining = iter(translations)
        return "".join(
            self._escape(next(remaining)) if segment.is_sentence else segment.text for segment in self.segments
        )

    def _escape(self, translation: str) -> str:
        return html.escape(translation, quote=False) if self.is_html else translation


def _html_segments(parts: Sequence[MarkupPart], language: str) -> Iterator[Segment]:
    for part in parts:
        if not part.is_text:
            yield Segment(part.source, False)
            continue
        for segment in split_sentences(html.unescape(part.source), language):
            yield segment if segment.is_sentence else Segment(_escape_with_spaces(segment.text), False)


def _escape_with_spaces(text: str) -> str:
    return html.escape(text, quote=False).replace("\xa0", "&nbsp;")
