"""OpenTelemetry traces: a span for each request, and below it one for each batch that it took part in.

Spans have numbers and names that the logs have too, never texts or keys. They go to the collector that the usual
environment variables name (`OTEL_EXPORTER_OTLP_ENDPOINT`), in the background. A request that says in `traceparent`
which trace it belongs to becomes a part of that.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

SERVICE_NAME = "maskpredict"


@dataclass(frozen=True)
class RequestTrace:
    """The trace of one HTTP request."""

    tracing: Tracing
    span: Span

    def add_batch(self, name: str, begin: float, end: float, attributes: Mapping[str, str | int | float]) -> None:
        """Add a batch that has ended; `begin` and `end` are times of `time.monotonic`."""
        from opentelemetry.trace import set_span_in_context

        offset = time.time_ns() - time.monotonic_ns()
        span = self.tracing.tracer.start_span(
            name, set_span_in_context(self.span), start_time=offset + round(begin * 1e9)
        )
        span.set_attributes(dict(attributes))
        span.end(offset + round(end * 1e9))

    def end(self, method: str, route: str, status: int, attributes: Mapping[str, str | int | float]) -> None:
        """End the trace of a request that was answered."""
        from opentelemetry.trace import Status, StatusCode

        self.span.update_name(f"{method} {route}")
        known: dict[str, str | int] = {"http.request.method": method, "http.route": route}
        self.span.set_attributes({**known, "http.response.status_code": status, **attributes})
        if status >= 500:
            self.span.set_status(Status(StatusCode.ERROR))
        self.span.end()


class Tracing:
    """Makes traces and exports them."""

    def __init__(self, provider: TracerProvider) -> None:
        self.provider = provider
        self.tracer = provider.get_tracer("maskpredict.serve")

    def begin(self, headers: Mapping[str, str]) -> RequestTrace:
        """Begin the trace of a request, whose method and route are not known yet."""
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        context = TraceContextTextMapPropagator().extract(headers)
        return RequestTrace(self, self.tracer.start_span("request", context, kind=SpanKind.SERVER))

    def close(self) -> None:
        """Export what is left."""
        self.provider.shutdown()


def otlp_tracing() -> Tracing:
    """Return traces that are sent by OTLP over HTTP; the libraries read their settings from the environment."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # Resource.create lets OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES have the last word.
    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE_NAME}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider)
