"""What Prometheus may read: every label has a small, fixed set of values."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from maskpredict.runtime.translation import Translation

MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Names the folder in which several workers keep their numbers, so that each of them can answer for all."""

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_POWERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The service's numbers."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own: dict[str, Any] = {"namespace": "maskpredict", "registry": self.registry}
        self._requests = Histogram(
            "request_seconds", "How long requests took.", ["route", "method", "status"], buckets=_SECONDS, **own
        )
        self._tokens = Counter("tokens", "Subwords read and written.", ["side", "model"], **own)
        self._passes = Histogram("passes", "Decoder passes of a sentence.", ["model"], buckets=_POWERS, **own)
        self._batch_sentences = Histogram("batch_sentences", "Sentences computed together.", buckets=_POWERS, **own)
        self._batch_seconds = Histogram("batch_seconds", "How long batches took.", buckets=_SECONDS, **own)
        self._waiting = Gauge("queue_sentences", "Sentences that wait.", multiprocess_mode="livesum", **own)

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answered request; `route` is the path as the program knows it, never as the client wrote it."""
        self._requests.labels(route, method, str(status)).observe(seconds)

    def waiting(self, sentences: int) -> None:
        """Say how long the queue is."""
        self._waiting.set(sentences)

    def batch(self, model: str, source_tokens: int, results: Sequence[Translation], seconds: float) -> None:
        """Count a computed batch."""
        self._batch_sentences.observe(len(results))
        self._batch_seconds.observe(seconds)
        self._tokens.labels("source", model).inc(source_tokens)
        self._tokens.labels("target", model).inc(sum(len(result.tokens) for result in results))
        for result in results:
            self._passes.labels(model).observe(result.passes)

    def page(self) -> bytes:
        """All numbers in Prometheus's text format, those of the other workers included."""
        registry = self.registry
        if MULTIPROCESS_VARIABLE in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)
        return generate_latest(registry)

    def close(self) -> None:
        """Withdraw what is only true of a living worker."""
        if MULTIPROCESS_VARIABLE in os.environ:
            mark_process_dead(os.getpid())
