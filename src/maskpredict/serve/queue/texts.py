"""From a client's texts to translated texts: find the language, take apart, translate, put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from maskpredict.runtime.lines import Line
from maskpredict.runtime.translation import Translation
from maskpredict.serve.queue.languages import AUTO
from maskpredict.serve.queue.models import ServedModel
from maskpredict.serve.queue.service import TranslationService
from maskpredict.serve.text.detection import Detected
from maskpredict.serve.text.segmented_text import Document
from maskpredict.serve.text.sentences import Segment


@dataclass(frozen=True)
class OpenedText:
    """A text that is ready to be translated."""

    document: Document
    model: ServedModel | None
    """None for a text that is in the target language already; its document has no sentences."""
    detected: Detected | None
    """What was found, if the client left the language open."""

    @property
    def work(self) -> list[tuple[ServedModel, Line]]:
        """Its sentences, for the service."""
        if self.model is None:
            return []
        return [(self.model, Line(sentence)) for sentence in self.document.sentences]


@dataclass(frozen=True)
class TranslatedText:
    """A text and its translation."""

    opened: OpenedText
    translations: list[Translation]
    """Of its sentences."""

    @property
    def text(self) -> str:
        """The whole translation."""
        return self.opened.document.filled([translation.text for translation in self.translations])

    def alternatives(self, most: int) -> list[str]:
        """Other translations of the whole, each different from all before it."""
        found = dict.fromkeys([self.text])
        for rank in range(1, 1 + max((len(one.hypotheses) for one in self.translations), default=0)):
            texts = [one.hypotheses[rank].text if rank < len(one.hypotheses) else one.text for one in self.translations]
            found[self.opened.document.filled(texts)] = None
        return list(islice(found, 1, 1 + most))


def open_text(
    service: TranslationService, text: str, source: str, target: str, of: Callable[[str, str], Document]
) -> OpenedText:
    """Find the language and the model for a text, and take it apart as `of` does."""
    detected = None
    if source == AUTO:
        detected = service.languages.detect(" ".join(of(text, AUTO).sentences))[0]
        source = detected.language
    model = service.languages.model(source, target)
    document = Document((Segment(text, False),)) if model is None else of(text, source)
    return OpenedText(document, model, detected)


async def translate_texts(
    service: TranslationService,
    texts: Sequence[str],
    source: str,
    target: str,
    settings: Mapping[str, Any],
    of: Callable[[str, str], Document] = Document.of_text,
    patience: float = 1.0,
) -> list[TranslatedText]:
    """Translate the texts of one request together."""
    opened = [open_text(service, text, source, target, of) for text in texts]
    translations = iter(await service.translate([line for one in opened for line in one.work], settings, patience))
    return [TranslatedText(one, list(islice(translations, len(one.work)))) for one in opened]
