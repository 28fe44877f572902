"""The thread that computes: it takes batches from the queue and hands results back to the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from threading import Thread

from maskpredict.decoding.engine import Engine
from maskpredict.errors import UserError
from maskpredict.runtime.translation import Translation
from maskpredict.serve.logs import log_bug
from maskpredict.serve.metrics import Metrics
from maskpredict.serve.queue.memory import Trimmer
from maskpredict.serve.queue.sentence_queue import Job, Outcome, SentenceQueue


class Batcher:
    """Runs until its queue is closed and empty."""

    def __init__(self, queue: SentenceQueue, metrics: Metrics, engines: Sequence[Engine]) -> None:
        self.queue, self.metrics, self.engines = queue, metrics, engines
        self._thread = Thread(target=self._run, name="batcher", daemon=True)

    def start(self) -> None:
        """Begin to compute."""
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """True while batches are being computed or waited for."""
        return self._thread.is_alive()

    async def finish(self) -> None:
        """Compute what still waits, then end."""
        self.queue.close()
        while self._thread.is_alive():
            await asyncio.sleep(0.01)

    def _run(self) -> None:
        for engine in self.engines:
            engine.prepare_thread()
        trimmer = Trimmer()
        while batch := self.queue.take():
            begin = time.perf_counter()
            outcomes = _computed(batch, self.queue.batch_tokens)
            seconds = time.perf_counter() - begin
            _deliver(batch, outcomes)
            results = [outcome for outcome in outcomes if isinstance(outcome, Translation)]
            self.metrics.batch(batch[0].model.name, sum(job.tokens for job in batch), results, seconds)
            self.metrics.waiting(len(self.queue))
            trimmer.maybe_trim()


def _computed(batch: Sequence[Job], batch_tokens: int) -> list[Outcome]:
    """What became of each job; one that cannot be done does not spoil the others."""
    model, settings = batch[0].model, dict(batch[0].settings)
    lines = [job.line for job in batch]
    try:
        found = model.translator.translate_lines(lines, window=len(lines), max_batch_size=batch_tokens, **settings)
        return list(found)
    except Exception as error:
        if len(batch) > 1:
            return [outcome for job in batch for outcome in _computed([job], batch_tokens)]
        if isinstance(error, UserError):
            return [UserError(str(error).removeprefix("line 1: "))]
        log_bug(error)
        return [error]


def _deliver(batch: Sequence[Job], outcomes: Sequence[Outcome]) -> None:
    def settle() -> None:
        for job, outcome in zip(batch, outcomes, strict=True):
            if not job.future.done():
                job.future.set_result(outcome)

    loop = batch[0].future.get_loop()
    if not loop.is_closed():  # a forced exit does not wait for us
        loop.call_soon_threadsafe(settle)
