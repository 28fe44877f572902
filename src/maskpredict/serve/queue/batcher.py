"""The thread that translates batches from the queue and returns the results to the event loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Thread

from maskpredict.decoding.pausing import pausing
from maskpredict.errors import UserError
from maskpredict.runtime.translation import Translation
from maskpredict.serve.logs import fields, log_unexpected_error
from maskpredict.serve.metrics import ServiceMetrics
from maskpredict.serve.queue.batch import SLICE_SECONDS, Batch, Outcome, QueuedSentence
from maskpredict.serve.queue.memory import MemoryTrimmer
from maskpredict.serve.queue.sentence_queue import SentenceQueue
from maskpredict.serve.queue.slices import DaemonThreads, SlicedWork

batch_log = logging.getLogger("maskpredict.batches")

SHORT_BATCH_SECONDS = 3 * SLICE_SECONDS
"""Turn of a batch that should take less than `SLICE_SECONDS`."""


class Abandoned(Exception):
    """Raised inside a translation for which no client waits any more."""


class Batcher:
    """Translates batches in a thread until its queue is closed and empty."""

    def __init__(self, queue: SentenceQueue, metrics: ServiceMetrics) -> None:
        self.queue, self.metrics = queue, metrics
        self._trimmer = MemoryTrimmer()
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
        threads = DaemonThreads()
        while batch := self.queue.take():
            if batch.work is None:
                batch.work = SlicedWork(partial(self._translate, batch), threads)
            batch.resumed = time.perf_counter()
            batch.work.resume()
            seconds = time.perf_counter() - batch.resumed
            batch.seconds += seconds
            if batch.work.result is None:
                self.queue.put_back(batch, seconds)
            else:
                self.queue.finish(batch, seconds)
                self._deliver(batch, batch.work.result)
            self.metrics.set_queue(len(self.queue), self.queue.running_batches, self.queue.unfinished_seconds)
            self._trimmer.trim_if_due()

    def _translate(self, batch: Batch, pause: Callable[[], None]) -> list[Outcome]:
        # What was meant to fit into a turn is not interrupted on a machine that is only a little slower than expected.
        turn = SLICE_SECONDS if batch.is_long else SHORT_BATCH_SECONDS

        def pause_if_due() -> None:
            if batch.is_abandoned:
                raise Abandoned
            if time.perf_counter() - batch.resumed > turn and self.queue.has_next():
                pause()

        try:
            with pausing(pause_if_due):
                return _translate_sentences(batch.sentences, self.queue.batch_tokens)
        except Abandoned as error:
            return [error] * len(batch.sentences)

    def _deliver(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        ended = time.monotonic()
        _set_results(batch.sentences, outcomes)
        translations = [outcome for outcome in outcomes if isinstance(outcome, Translation)]
        if len(translations) == len(outcomes):
            batch.sentences[0].model.speed.observe(batch.price, batch.seconds)
        if translations:
            model, tokens = batch.sentences[0].model, sum(sentence.tokens for sentence in batch.sentences)
            engine = model.translator.engine.name
            self.metrics.count_batch(model.name, engine, tokens, translations, batch.seconds)
            _report_batch(batch, model.name, engine, ended)


def _translate_sentences(sentences: Sequence[QueuedSentence], batch_tokens: int) -> list[Outcome]:
    """Return the outcome of each sentence; if the batch fails, translate its sentences one by one."""
    model, settings = sentences[0].model, dict(sentences[0].settings)
    lines = [sentence.line for sentence in sentences]
    try:
        translations = model.translator.translate_lines(
            lines, window=len(lines), max_batch_size=batch_tokens, **settings
        )
        return list(translations)
    except Abandoned:
        raise
    except Exception as error:
        if len(sentences) > 1:
            return [outcome for sentence in sentences for outcome in _translate_sentences([sentence], batch_tokens)]
        if isinstance(error, UserError):
            return [UserError(str(error).removeprefix("line 1: "))]
        log_unexpected_error(error, _request_names(sentences))
        return [error]


def _request_names(sentences: Sequence[QueuedSentence]) -> list[str]:
    return list(dict.fromkeys(sentence.request.name for sentence in sentences if sentence.request))


def _report_batch(batch: Batch, model: str, engine: str, ended: float) -> None:
    """Log a batch, and add it to the traces of its requests."""
    details: dict[str, str | int | float] = {
        "model": model,
        "engine": engine,
        "sentences": len(batch.sentences),
        "positions": batch.price,
        "computing_seconds": round(batch.seconds, 4),
    }
    names = _request_names(batch.sentences)
    batch_log.debug(
        "batch of %d in %.3f s", len(batch.sentences), batch.seconds, extra=fields(**details, requests=names)
    )
    for request in {sentence.request for sentence in batch.sentences if sentence.request and sentence.request.trace}:
        assert request.trace is not None
        arrived = min(sentence.arrived for sentence in batch.sentences if sentence.request is request)
        waiting = {"waiting_seconds": round(batch.started - arrived, 4)}
        request.trace.add_batch("batch", batch.started, ended, details | waiting)


def _set_results(sentences: Sequence[QueuedSentence], outcomes: Sequence[Outcome]) -> None:
    def set_results() -> None:
        for sentence, outcome in zip(sentences, outcomes, strict=True):
            if not sentence.future.done():
                sentence.future.set_result(outcome)

    loop = sentences[0].future.get_loop()
    if not loop.is_closed():  # a forced exit does not wait for this thread
        loop.call_soon_threadsafe(set_results)
