"""Translates whole texts: detects the language, splits into sentences, translates them and joins the translations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from maskpredict.documents.document import SegmentedDocument
from maskpredict.documents.html import HtmlMarkup
from maskpredict.documents.plain import PlainText
from maskpredict.runtime.lines import Line
from maskpredict.runtime.translation import Translation
from maskpredict.serve.queue.detection import Detection
from maskpredict.serve.queue.languages import AUTO
from maskpredict.serve.queue.models import ServedModel
from maskpredict.serve.queue.service import TranslationService

Segmented = SegmentedDocument[str]
Segmenter = Callable[[str, str], Segmented]
"""Splits a text in a language, given by its code."""


def as_text(text: str, language: str) -> Segmented:
    """Split plain text into sentences."""
    return SegmentedDocument.split(PlainText(text), language)


def as_html(markup: str, language: str) -> Segmented:
    """Split the text in HTML into sentences; tags inside a sentence move with its words."""
    return SegmentedDocument.split(HtmlMarkup(markup), language)


def as_sentence(text: str, language: str) -> Segmented:
    """Take plain text as one sentence."""
    return SegmentedDocument.whole(PlainText(text))


@dataclass(frozen=True)
class PreparedText:
    """A text that is ready to be translated."""

    segmented: Segmented
    model: ServedModel | None
    """None for a text that is already in the target language; it has no sentences to translate."""
    detected: Detection | None
    """The detected language, if the client asked for detection."""

    @property
    def lines(self) -> list[tuple[ServedModel, Line]]:
        """Its sentences, each with the model that translates it."""
        if self.model is None:
            return []
        return [(self.model, line) for line in self.segmented.lines]


@dataclass(frozen=True)
class TranslatedText:
    """A text and the translations of its sentences."""

    prepared: PreparedText
    translations: list[Translation]

    @property
    def text(self) -> str:
        """Translation of the whole text."""
        return self.prepared.segmented.replace(self.translations)

    def alternatives(self, limit: int) -> list[str]:
        """Return up to `limit` other translations of the whole text, all of them different."""
        texts = dict.fromkeys([self.text])
        for rank in range(1, 1 + max((len(one.hypotheses) for one in self.translations), default=0)):
            sentences = [one.hypotheses[rank] if rank < len(one.hypotheses) else one for one in self.translations]
            texts[self.prepared.segmented.replace(sentences)] = None
        return list(islice(texts, 1, 1 + limit))


async def prepare_text(
    service: TranslationService, text: str, source: str, target: str, segmenter: Segmenter
) -> PreparedText:
    """Choose the model for a text, after detecting its language if `source` is auto, and split it."""
    return await service.preparing.run(len(text), _prepare, service, text, source, target, segmenter)


def _prepare(service: TranslationService, text: str, source: str, target: str, segmenter: Segmenter) -> PreparedText:
    detected = None
    if source == AUTO:
        detected = service.languages.detect(" ".join(one.text for one in segmenter(text, AUTO).sentences))[0]
        source = detected.language
    model = service.languages.model(source, target)
    segmented = SegmentedDocument.untranslated(PlainText(text)) if model is None else segmenter(text, source)
    return PreparedText(segmented, model, detected)


async def translate_texts(
    service: TranslationService,
    texts: Sequence[str],
    source: str,
    target: str,
    settings: Mapping[str, Any],
    segmenter: Segmenter = as_text,
    timeout_factor: float = 1.0,
) -> list[TranslatedText]:
    """Translate the texts of one request together."""
    if source != AUTO:
        service.languages.check(source)
    service.languages.check(target)  # even if there is no text
    prepared = [await prepare_text(service, text, source, target, segmenter) for text in texts]
    lines = [line for one in prepared for line in one.lines]
    translations = iter(await service.translate(lines, settings, timeout_factor))
    return [TranslatedText(one, list(islice(translations, len(one.lines)))) for one in prepared]
