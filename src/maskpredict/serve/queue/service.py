"""The TranslationService: models, queue and thread behind one small interface."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from maskpredict.runtime.lines import Line
from maskpredict.runtime.translation import Translation
from maskpredict.serve.config import ServiceConfig
from maskpredict.serve.http.errors import RETRY_AFTER, Refusal
from maskpredict.serve.metrics import Metrics
from maskpredict.serve.queue.batcher import Batcher
from maskpredict.serve.queue.languages import Languages
from maskpredict.serve.queue.models import ServedModel, load_models
from maskpredict.serve.queue.sentence_queue import Job, QueueFull, SentenceQueue

Work = Sequence[tuple[ServedModel, Line]]
"""The sentences of one request, each with the model that is to translate it."""


class TranslationService:
    """Translates for many clients at once."""

    def __init__(self, config: ServiceConfig) -> None:
        self.config = config
        models = load_models(config)
        self.languages = Languages(models)
        self.metrics = Metrics()
        tokens = config.batch_tokens or models[0].translator.engine.batch_tokens
        self._queue = SentenceQueue(config.max_queue, tokens, config.batch_milliseconds / 1_000)
        self._batcher = Batcher(self._queue, self.metrics, [model.translator.engine for model in models])

    def start(self) -> None:
        """Begin to compute."""
        self._batcher.start()

    async def finish(self) -> None:
        """Compute what is left, then end."""
        await self._batcher.finish()
        self.metrics.close()

    def numbers(self) -> bytes:
        """What Prometheus may read."""
        self.metrics.waiting(len(self._queue))
        return self.metrics.page()

    @property
    def is_ready(self) -> bool:
        """True while requests can be answered."""
        return self._batcher.is_alive

    async def translate(self, work: Work, settings: Mapping[str, Any], patience: float = 1.0) -> list[Translation]:
        """Translate the sentences of one request, which may take `patience` times the usual time."""
        return [translation async for translation in self.finished(self.enqueue(work, settings), patience)]

    def enqueue(self, work: Work, settings: Mapping[str, Any]) -> list[Job]:
        """Put the sentences of one request into the queue, if they fit."""
        loop = asyncio.get_running_loop()
        chosen = {model.name: tuple(sorted(model.settings(settings).items())) for model in {model for model, _ in work}}
        jobs = [
            Job(model, line, chosen[model.name], model.tokens(line.source), loop.create_future())
            for model, line in work
        ]
        try:
            self._queue.put(jobs)
        except QueueFull:
            raise Refusal(503, "The server is busy; try again in a moment.", RETRY_AFTER) from None
        self.metrics.waiting(len(self._queue))
        return jobs

    async def finished(self, jobs: Sequence[Job], patience: float = 1.0) -> AsyncIterator[Translation]:
        """The translations, in order, as they are computed; whoever stops listening gives up the rest."""
        seconds = patience * self.config.timeout
        deadline = asyncio.get_running_loop().time() + seconds
        try:
            for job in jobs:
                async with asyncio.timeout_at(deadline):
                    outcome = await job.future
                if isinstance(outcome, Exception):
                    raise outcome
                yield outcome
        except TimeoutError:
            raise Refusal(503, f"The translation took longer than {seconds:g} seconds.", RETRY_AFTER) from None
        finally:
            for job in jobs:
                job.future.cancel()
