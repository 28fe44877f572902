"""OpenTelemetry traces follow a request through its batches, in a collector's words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from typer.testing import CliRunner

from maskpredict import extras
from maskpredict.cli import app
from maskpredict.serve.tracing import Tracing
from tests.serve.conftest import WaitUntil

PAIR = {"source": "xx", "target": "yy"}
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
Running = Callable[..., AbstractContextManager[httpx.Client]]
Started = Callable[..., AbstractContextManager[tuple[str, object]]]


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def traced(running: Running, exporter: InMemorySpanExporter) -> Iterator[httpx.Client]:
    """A client of a server whose spans stay in memory."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with running(tracing=Tracing(provider)) as client:
        yield client


def spans(exporter: InMemorySpanExporter, count: int, wait_until: WaitUntil) -> list[ReadableSpan]:
    wait_until(lambda: len(exporter.get_finished_spans()) >= count)
    return sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0)


def test_a_request_and_its_batches_are_spans_of_one_trace(
    traced: httpx.Client, exporter: InMemorySpanExporter, wait_until: WaitUntil
) -> None:
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "X-Request-ID": "job-7"}
    answer = traced.post("/v1/translate", json={"q": "bane kosa.", **PAIR}, headers=headers)
    assert answer.status_code == 200
    request, batch = spans(exporter, 2, wait_until)
    assert request.context is not None
    assert request.parent is not None
    assert batch.parent is not None
    assert f"{request.context.trace_id:032x}" == TRACE
    assert f"{request.parent.span_id:016x}" == PARENT
    assert batch.parent.span_id == request.context.span_id
    assert request.name == "POST /v1/translate"
    assert (
        dict(request.attributes or {}).items()
        >= {
            "http.request.method": "POST",
            "http.route": "/v1/translate",
            "http.response.status_code": 200,
            "request": "job-7",
            "sentences": 1,
        }.items()
    )
    attributes = dict(batch.attributes or {})
    assert attributes.keys() == {"model", "engine", "sentences", "positions", "computing_seconds", "waiting_seconds"}
    assert (attributes["model"], attributes["engine"], attributes["sentences"]) == ("xx-yy", "onnxruntime", 1)
    assert (request.start_time or 0) <= (batch.start_time or 0) <= (batch.end_time or 0) <= (request.end_time or 0)
    assert "bane" not in "".join(span.to_json() for span in (request, batch))


def test_each_request_of_a_batch_has_it_in_its_own_trace(
    traced: httpx.Client, exporter: InMemorySpanExporter, wait_until: WaitUntil
) -> None:
    for _ in range(2):
        traced.post("/translate", json={"q": "bane.\nluri.", **PAIR})
    found = spans(exporter, 4, wait_until)
    requests = {span.context.trace_id for span in found if span.context and span.name == "POST /translate"}
    assert len(requests) == 2
    assert {span.context.trace_id for span in found if span.context and span.name == "batch"} == requests


def test_what_was_refused_is_a_span_without_batches_and_no_error_of_ours(
    traced: httpx.Client, exporter: InMemorySpanExporter, wait_until: WaitUntil
) -> None:
    traced.post("/v1/translate", json={"q": "bane.", **PAIR, "iterations": 10**6})
    traced.get("/nowhere-secret", headers={"traceparent": "no trace at all"})
    refused, missing = spans(exporter, 2, wait_until)
    assert (refused.attributes or {})["http.response.status_code"] == 400
    assert refused.status.status_code is StatusCode.UNSET
    assert missing.name == "GET other"
    assert "secret" not in missing.to_json()


def test_a_collector_gets_them_when_the_server_is_told_to_send_them(
    cmlm_folder: Path, tmp_path: Path, started: Started, monkeypatch: pytest.MonkeyPatch, wait_until: WaitUntil
) -> None:
    names: list[str] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            sent = ExportTraceServiceRequest.FromString(body)
            for resource in sent.resource_spans:
                services = [
                    pair.value.string_value for pair in resource.resource.attributes if pair.key == "service.name"
                ]
                names.extend(f"{services[0]}: {span.name}" for scope in resource.scope_spans for span in scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    collector = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    Thread(target=collector.serve_forever, daemon=True).start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.server_port}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    with started(cmlm_folder, tmp_path / "log", "--traces") as (url, _):
        assert httpx.post(f"{url}/translate", json={"q": "bane.", **PAIR}).status_code == 200
        wait_until(lambda: {"maskpredict: batch", "maskpredict: POST /translate"} <= set(names))
    collector.shutdown()


def test_traces_name_their_extra(cmlm_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.EXTRAS, "otel", ("opentelemetry.not_there",))
    result = CliRunner().invoke(app, ["serve", "--model", str(cmlm_folder), "--traces"])
    assert result.exit_code == 2
    assert "maskpredict[otel]" in result.stderr
