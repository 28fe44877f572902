"""Prometheus metrics. Every label has a small, fixed set of values."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from maskpredict.runtime.translation import Translation

MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the folder in which workers share their metrics, so that each can report all of them."""

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_POWERS_OF_TWO = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class ServiceMetrics:
    """Metrics of requests, batches and the queue."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        options: dict[str, Any] = {"namespace": "maskpredict", "registry": self.registry}
        self._requests = Histogram(
            "request_seconds", "Duration of HTTP requests.", ["route", "method", "status"], buckets=_SECONDS, **options
        )
        model = ["model", "engine"]
        self._tokens = Counter("tokens", "Source and target subwords.", ["side", *model], **options)
        self._passes = Histogram("passes", "Decoder passes per sentence.", model, buckets=_POWERS_OF_TWO, **options)
        self._batch_sentences = Histogram(
            "batch_sentences", "Sentences per batch.", model, buckets=_POWERS_OF_TWO, **options
        )
        self._batch_seconds = Histogram(
            "batch_seconds", "Computing time of batches.", model, buckets=_SECONDS, **options
        )
        shared = {**options, "multiprocess_mode": "livesum"}
        self._waiting = Gauge("queue_sentences", "Sentences in the queue.", **shared)
        self._running = Gauge("running_batches", "Batches that have started, the paused ones included.", **shared)
        self._unfinished = Gauge("unfinished_seconds", "Estimated computing time of all accepted work.", **shared)

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request; `route` is the path template of the route, never the path that the client sent."""
        self._requests.labels(route, method, str(status)).observe(seconds)

    def set_queue(self, sentences: int, running: int, seconds: float) -> None:
        """Set the number of waiting sentences and of running batches, and the estimated time of all accepted work."""
        self._waiting.set(sentences)
        self._running.set(running)
        self._unfinished.set(seconds)

    def count_batch(
        self, model: str, engine: str, source_tokens: int, translations: Sequence[Translation], seconds: float
    ) -> None:
        """Count a translated batch."""
        labels = {"model": model, "engine": engine}
        self._batch_sentences.labels(**labels).observe(len(translations))
        self._batch_seconds.labels(**labels).observe(seconds)
        self._tokens.labels(side="source", **labels).inc(source_tokens)
        self._tokens.labels(side="target", **labels).inc(sum(len(translation.tokens) for translation in translations))
        for translation in translations:
            self._passes.labels(**labels).observe(translation.passes)

    def render(self) -> bytes:
        """Return the metrics of all workers in Prometheus's text format."""
        registry = self.registry
        if MULTIPROCESS_VARIABLE in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)
        return generate_latest(registry)

    def close(self) -> None:
        """Remove the gauges of this worker, which count only while it runs."""
        if MULTIPROCESS_VARIABLE in os.environ:
            mark_process_dead(os.getpid())
