"""Translates documents, some sentences at a time, so that they do not fill the queue."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace

from maskpredict.documents.document import Document, SegmentedDocument
from maskpredict.runtime.glossary.glossary import Glossary
from maskpredict.runtime.translation import Translation
from maskpredict.serve.queue.languages import AUTO
from maskpredict.serve.queue.models import ServedModel
from maskpredict.serve.queue.service import TranslationService

FIRST_SENTENCES, SENTENCES_AT_ONCE = 8, 64
"""Sentences of a document that are in the queue at first, so that some are soon there to look at, and later at most."""
TIMEOUT_FACTOR = 10.0
"""Timeout of a document, relative to that of other requests."""


class DocumentTranslation:
    """A document and the translations of its first sentences, as many as there are so far."""

    def __init__(self, segmented: SegmentedDocument[bytes], model: ServedModel | None) -> None:
        """`model` is None for a document that is already in the target language."""
        self._segmented, self.model = segmented, model
        self.sentences = [] if model is None else segmented.sentences
        """Those to translate."""
        self.translations: list[Translation] = []

    @classmethod
    async def begin(
        cls, service: TranslationService, document: Document[bytes], source: str, target: str
    ) -> DocumentTranslation:
        """Split a document into sentences, after detecting its language if `source` is auto."""
        if source == AUTO:
            text = " ".join(item.text for block in document.blocks for item in block)
            source = service.languages.detect(text)[0].language
        model = service.languages.model(source, target)
        if model is None:
            return cls(SegmentedDocument.untranslated(document), None)
        return cls(await asyncio.to_thread(SegmentedDocument.split, document, source), model)

    async def translate(self, service: TranslationService, glossary: Glossary | None) -> AsyncIterator[int]:
        """Translate the sentences; yield, whenever there are more, how many there were before."""
        if self.model is None:
            return
        deadline = time.monotonic() + TIMEOUT_FACTOR * service.config.timeout
        lines = [(self.model, replace(line, glossary=glossary)) for line in self._segmented.lines]
        while (done := len(self.translations)) < len(lines):
            left = max(0.0, deadline - time.monotonic()) / service.config.timeout
            end = done + min(max(done, FIRST_SENTENCES), SENTENCES_AT_ONCE)
            self.translations += await service.translate(lines[done:end], {}, left)
            yield done

    async def content(self) -> bytes:
        """Return the translated file, when all sentences are done."""
        return await asyncio.to_thread(self._segmented.replace, self.translations)
