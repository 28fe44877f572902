"""A text or a piece of HTML as sentences to translate with everything between them, which is kept as it is."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from maskpredict.serve.text.markup import Stretch, stretches
from maskpredict.serve.text.sentences import Segment, segments


@dataclass(frozen=True)
class Document:
    """What a client sent, taken apart."""

    segments: tuple[Segment, ...]
    is_html: bool = False

    @classmethod
    def of_text(cls, text: str, language: str) -> Document:
        """Plain text."""
        return cls(tuple(segments(text, language)))

    @classmethod
    def of_sentence(cls, text: str, language: str) -> Document:
        """Plain text that must not be cut, whatever it holds."""
        return cls((Segment(text, True),))

    @classmethod
    def of_html(cls, markup: str, language: str) -> Document:
        """HTML: the text between tags is translated, stretch by stretch; tags and all else stay to the letter."""
        return cls(tuple(_html_segments(stretches(markup), language)), is_html=True)

    @property
    def sentences(self) -> list[str]:
        """What is to be translated, in order."""
        return [segment.text for segment in self.segments if segment.is_sentence]

    def filled(self, translations: Sequence[str]) -> str:
        """The document with its sentences replaced."""
        remaining = iter(translations)
        return "".join(
            self._written(next(remaining)) if segment.is_sentence else segment.text for segment in self.segments
        )

    def _written(self, translation: str) -> str:
        return html.escape(translation, quote=False) if self.is_html else translation


def _html_segments(parts: Sequence[Stretch], language: str) -> Iterator[Segment]:
    for part in parts:
        if not part.is_text:
            yield Segment(part.source, False)
            continue
        for segment in segments(html.unescape(part.source), language):
            yield segment if segment.is_sentence else Segment(_escaped(segment.text), False)


def _escaped(text: str) -> str:
    return html.escape(text, quote=False).replace("\xa0", "&nbsp;")
