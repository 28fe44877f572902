"""The TranslationService: models, queue and translating thread behind one small interface."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from maskpredict.runtime.lines import Line
from maskpredict.runtime.translation import Translation
from maskpredict.serve.config import ServiceConfig
from maskpredict.serve.metrics import ServiceMetrics
from maskpredict.serve.queue.batcher import Batcher
from maskpredict.serve.queue.errors import ServiceBusy
from maskpredict.serve.queue.languages import ServedLanguages
from maskpredict.serve.queue.models import ServedModel, load_models
from maskpredict.serve.queue.sentence_queue import QueuedSentence, SentenceQueue

ModelLines = Sequence[tuple[ServedModel, Line]]
"""The sentences of one request, each with the model that translates it."""


class TranslationService:
    """Translates for many clients at once, with all models of a config."""

    def __init__(self, config: ServiceConfig) -> None:
        self.config = config
        models = load_models(config)
        self.languages = ServedLanguages(models)
        self.metrics = ServiceMetrics()
        tokens = config.batch_tokens or models[0].translator.engine.batch_tokens
        self._queue = SentenceQueue(config.max_queue, tokens, config.batch_milliseconds / 1_000)
        self._batcher = Batcher(self._queue, self.metrics)

    def start(self) -> None:
        """Start to translate."""
        self._batcher.start()

    async def stop(self) -> None:
        """Translate the sentences that still wait, then stop."""
        await self._batcher.stop()
        self.metrics.close()

    def metrics_page(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        self.metrics.set_queue_length(len(self._queue))
        return self.metrics.render()

    @property
    def is_ready(self) -> bool:
        """True while requests are answered."""
        return self._batcher.is_alive

    async def translate(
        self, lines: ModelLines, settings: Mapping[str, Any], timeout_factor: float = 1.0
    ) -> list[Translation]:
        """Translate the sentences of one request within `timeout_factor` times the configured timeout."""
        sentences = self.enqueue(lines, settings)
        return [translation async for translation in self.results(sentences, timeout_factor)]

    def enqueue(self, lines: ModelLines, settings: Mapping[str, Any]) -> list[QueuedSentence]:
        """Add the sentences of one request to the queue; raise `QueueFull` if there is no room."""
        loop = asyncio.get_running_loop()
        models = {model for model, _ in lines}
        settings_of = {model.name: tuple(sorted(model.settings(settings).items())) for model in models}
        sentences = [
            QueuedSentence(model, line, settings_of[model.name], model.tokens(line.source), loop.create_future())
            for model, line in lines
        ]
        self._queue.put(sentences)
        self.metrics.set_queue_length(len(self._queue))
        return sentences

    async def results(
        self, sentences: Sequence[QueuedSentence], timeout_factor: float = 1.0
    ) -> AsyncIterator[Translation]:
        """Yield the translations in order, as soon as each is ready; closing the iterator cancels the others."""
        seconds = timeout_factor * self.config.timeout
        deadline = asyncio.get_running_loop().time() + seconds
        try:
            for sentence in sentences:
                async with asyncio.timeout_at(deadline):
                    outcome = await sentence.future
                if isinstance(outcome, Exception):
                    raise outcome
                yield outcome
        except TimeoutError:
            raise ServiceBusy(f"The translation took longer than {seconds:g} seconds.") from None
        finally:
            for sentence in sentences:
                sentence.future.cancel()
