"""The TranslationService: models, queue and translating thread behind one small interface."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maskpredict.errors import UserError
from maskpredict.runtime.lines import Line
from maskpredict.runtime.translation import Translation
from maskpredict.serve.caller import Caller, caller
from maskpredict.serve.config import ServiceConfig
from maskpredict.serve.metrics import ServiceMetrics
from maskpredict.serve.queue.batch import QueuedSentence
from maskpredict.serve.queue.batcher import Batcher
from maskpredict.serve.queue.errors import ServiceBusy
from maskpredict.serve.queue.languages import ServedLanguages
from maskpredict.serve.queue.models import ServedModel, load_models
from maskpredict.serve.queue.preparation import Preparation
from maskpredict.serve.queue.sentence_queue import SentenceQueue
from maskpredict.serve.queue.shares import QueuedRequest

ModelLines = Sequence[tuple[ServedModel, Line]]
"""The sentences of one request, each with the model that translates it."""


@dataclass(frozen=True)
class AcceptedRequest:
    """The sentences of a request that was accepted."""

    sentences: Sequence[QueuedSentence]
    queued: QueuedRequest
    deadline: float
    """Time of the event loop at which the request is given up."""
    seconds: float
    """Time it has in all."""


@dataclass(frozen=True)
class Load:
    """Load of the service."""

    waiting_sentences: int
    unfinished_seconds: float
    """Estimated computing time of all accepted work."""


class TranslationService:
    """Translates for many clients at once, with all models of a config."""

    def __init__(self, config: ServiceConfig) -> None:
        self.config = config
        self._models = load_models(config)
        self.languages = ServedLanguages(self._models)
        self.metrics = ServiceMetrics()
        self.preparing = Preparation()
        tokens = config.batch_tokens or self._models[0].translator.engine.batch_tokens
        self._queue = SentenceQueue(config.max_queue, tokens, config.batch_milliseconds / 1_000)
        self._batcher = Batcher(self._queue, self.metrics)

    def start(self) -> None:
        """Start to translate."""
        for model in self._models:
            model.warm_up()
        self._batcher.start()

    async def stop(self) -> None:
        """Translate the sentences that still wait, then stop."""
        await self._batcher.stop()
        self.metrics.close()

    def metrics_page(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        self._measure_queue()
        return self.metrics.render()

    @property
    def is_ready(self) -> bool:
        """True while requests are answered."""
        return self._batcher.is_alive

    @property
    def load(self) -> Load:
        """Present load of the service."""
        return Load(len(self._queue), self._queue.unfinished_seconds)

    async def translate(
        self, lines: ModelLines, settings: Mapping[str, Any], timeout_factor: float = 1.0
    ) -> list[Translation]:
        """Translate the sentences of one request within `timeout_factor` times the configured timeout."""
        accepted = await self.accept(lines, settings, timeout_factor)
        return [translation async for translation in self.results(accepted)]

    async def accept(
        self, lines: ModelLines, settings: Mapping[str, Any], timeout_factor: float = 1.0
    ) -> AcceptedRequest:
        """Begin to translate the sentences of one request, which ends with the present HTTP request at the latest.

        `timeout_factor` raises the limits of time and work. Raises a `UserError` if the request is too much work, and
        `QueueFull` if it would take too long now.
        """
        loop = asyncio.get_running_loop()
        characters = sum(len(line.source) for _, line in lines)
        sentences = await self.preparing.run(characters, self._sentences, lines, settings, loop)
        self._check_work(sum(sentence.price for sentence in sentences), timeout_factor)
        seconds, present = timeout_factor * self.config.timeout, caller()
        queued = self._queue.admit(present.client, present.request_id, sentences, seconds)
        accepted = AcceptedRequest(sentences, queued, loop.time() + seconds, seconds)
        present.ended.callback(self._end, accepted, present)
        self._queue.put(queued, sentences[: self._queue.window])
        self._measure_queue()
        return accepted

    async def results(self, accepted: AcceptedRequest) -> AsyncIterator[Translation]:
        """Yield the translations in order, as soon as each is ready."""
        sentences, window = accepted.sentences, self._queue.window
        try:
            for number, sentence in enumerate(sentences):
                async with asyncio.timeout_at(accepted.deadline):
                    outcome = await sentence.future
                if isinstance(outcome, Exception):
                    raise outcome
                self._queue.put(accepted.queued, sentences[number + window : number + window + 1])
                yield outcome
        except TimeoutError:
            raise ServiceBusy(f"The translation took longer than {accepted.seconds:g} seconds.") from None
        finally:
            for sentence in sentences:
                sentence.future.cancel()

    @staticmethod
    def _sentences(
        lines: ModelLines, settings: Mapping[str, Any], loop: asyncio.AbstractEventLoop
    ) -> list[QueuedSentence]:
        sentences: dict[int, QueuedSentence] = {}
        for model in dict.fromkeys(model for model, _ in lines):
            own_lines = {place: line for place, (other, line) in enumerate(lines) if other is model}
            chosen = model.settings(settings)
            key = tuple(sorted(chosen.items()))
            tokens = [model.tokens(line.source) for line in own_lines.values()]
            prices = model.prices(list(own_lines.values()), tokens, chosen)
            for (place, line), count, price in zip(own_lines.items(), tokens, prices, strict=True):
                sentences[place] = QueuedSentence(model, line, key, count, price, loop.create_future())
        return [sentences[place] for place in range(len(lines))]

    def _end(self, accepted: AcceptedRequest, present: Caller) -> None:
        for sentence in accepted.sentences:
            sentence.future.cancel()
        self._queue.leave(accepted.queued)
        present.sentences += len(accepted.sentences)
        present.positions += sum(sentence.price for sentence in accepted.sentences)
        present.computing_seconds += accepted.queued.computing_seconds

    def _check_work(self, price: int, factor: float) -> None:
        limit = round(factor * self.config.work_limit)
        if price > limit:
            raise UserError(
                f"this request is too much work: about {price:,} positions to compute, where {limit:,} are allowed; "
                "send less text, or ask for fewer iterations, length_candidates or gaps."
            )

    def _measure_queue(self) -> None:
        self.metrics.set_queue(len(self._queue), self._queue.running_batches, self._queue.unfinished_seconds)
