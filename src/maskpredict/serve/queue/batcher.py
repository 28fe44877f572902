"""The thread that translates batches from the queue and returns the results to the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from threading import Thread

from maskpredict.errors import UserError
from maskpredict.runtime.translation import Translation
from maskpredict.serve.logs import log_unexpected_error
from maskpredict.serve.metrics import ServiceMetrics
from maskpredict.serve.queue.memory import MemoryTrimmer
from maskpredict.serve.queue.sentence_queue import Outcome, QueuedSentence, SentenceQueue


class Batcher:
    """Translates batches in a thread until its queue is closed and empty."""

    def __init__(self, queue: SentenceQueue, metrics: ServiceMetrics) -> None:
        self.queue, self.metrics = queue, metrics
        self._thread = Thread(target=self._run, name="batcher", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """True while the thread runs."""
        return self._thread.is_alive()

    async def stop(self) -> None:
        """Translate the sentences that still wait, then end the thread."""
        self.queue.close()
        while self._thread.is_alive():
            await asyncio.sleep(0.01)

    def _run(self) -> None:
        trimmer = MemoryTrimmer()
        while batch := self.queue.take():
            begin = time.perf_counter()
            outcomes = _translate_batch(batch, self.queue.batch_tokens)
            seconds = time.perf_counter() - begin
            _deliver(batch, outcomes)
            translations = [outcome for outcome in outcomes if isinstance(outcome, Translation)]
            source_tokens = sum(sentence.tokens for sentence in batch)
            self.metrics.count_batch(batch[0].model.name, source_tokens, translations, seconds)
            self.metrics.set_queue_length(len(self.queue))
            trimmer.trim_if_due()


def _translate_batch(batch: Sequence[QueuedSentence], batch_tokens: int) -> list[Outcome]:
    """Return the outcome of each sentence; if the batch fails, translate its sentences one by one."""
    model, settings = batch[0].model, dict(batch[0].settings)
    lines = [sentence.line for sentence in batch]
    try:
        translations = model.translator.translate_lines(
            lines, window=len(lines), max_batch_size=batch_tokens, **settings
        )
        return list(translations)
    except Exception as error:
        if len(batch) > 1:
            return [outcome for sentence in batch for outcome in _translate_batch([sentence], batch_tokens)]
        if isinstance(error, UserError):
            return [UserError(str(error).removeprefix("line 1: "))]
        log_unexpected_error(error)
        return [error]


def _deliver(batch: Sequence[QueuedSentence], outcomes: Sequence[Outcome]) -> None:
    def set_results() -> None:
        for sentence, outcome in zip(batch, outcomes, strict=True):
            if not sentence.future.done():
                sentence.future.set_result(outcome)

    loop = batch[0].future.get_loop()
    if not loop.is_closed():  # a forced exit does not wait for this thread
        loop.call_soon_threadsafe(set_results)
