"""Invalid requests get a 4xx response with one sentence, and the server continues to serve others."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

Running = Callable[..., AbstractContextManager[httpx.Client]]

PAIR = {"source": "xx", "target": "yy"}
JSON = {"content-type": "application/json"}
ROUTES: dict[str, dict[str, Any]] = {
    "/translate": {"q": "bane.", **PAIR},
    "/detect": {"q": "bane."},
    "/v1/translate": {"q": "bane.", **PAIR},
    "/v1/fill": {"source_text": "bane.", "template": {"text": "___."}, **PAIR},
}


@pytest.fixture(autouse=True)
def _still_serving(client: httpx.Client, server_log: Path) -> Any:
    before = len(server_log.read_text())
    yield
    answer = client.post("/translate", json=ROUTES["/translate"])
    assert answer.status_code == 200
    assert "internal error" not in server_log.read_text()[before:]


def assert_refused(answer: httpx.Response, status: int = 400) -> str:
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    return str(answer.json()["error"])


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b"[]",
        b"null",
        b'"text"',
        b"\xff\xfe",
        b'{"q": "\xff"}',
        b"[" * 100_000,
        b'{"q": ' + b"9" * 5_000 + b"}",
        b"{}",
    ],
    ids=["nothing", "half", "no JSON", "a list", "null", "a string", "no UTF-8", "bad UTF-8", "deep", "long", "empty"],
)
def test_malformed_json(client: httpx.Client, route: str, body: bytes) -> None:
    assert_refused(client.post(route, content=body, headers=JSON))


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("value", [None, 3, True, {"a": 1}, [1], [["bane."]], [None]], ids=str)
def test_wrong_types(client: httpx.Client, route: str, value: Any) -> None:
    field = "source_text" if route == "/v1/fill" else "q"
    sentence = assert_refused(client.post(route, json={**ROUTES[route], field: value}))
    assert sentence.startswith(f"Invalid request: {field}")


@pytest.mark.parametrize(
    "change",
    [
        {"iterations": 0},
        {"iterations": 33},
        {"iterations": "M"},
        {"iterations": 2.5},
        {"iterations": True},
        {"iterations": "4"},
        {"trace": 1},
        {"length_candidates": 0},
        {"length_candidates": 17},
        {"speed": "ludicrous"},
        {"alternatives": -1},
        {"alternatives": 10**30},
        {"alternatives": False},
        {"pins": "ENAB"},
        {"pins": [{"phrase": ""}]},
        {"pins": [{"phrase": "ENAB", "position": -1}]},
        {"pins": [{"phrase": "ENAB", "position": True}]},
        {"pins": [{"phrase": "ENAB", "position": "0"}]},
        {"pins": [{"phrase": "ENAB", "position": 10**12}]},
        {"pins": [{"phrase": "ENAB", "position": 900}]},
        {"pins": [{"phrase": "ENAB"}] * 33},
        {"pins": [{"phrase": "ENAB", "position": 0}] * 2},
        {"pins": [{"phrase": "ENAB " * 100}]},
    ],
    ids=lambda change: json.dumps(change)[:40],
)
def test_settings_out_of_bounds(client: httpx.Client, change: dict[str, Any]) -> None:
    assert_refused(client.post("/v1/translate", json={**ROUTES["/v1/translate"], **change}))


@pytest.mark.parametrize("route", ["/translate", "/v1/translate", "/v1/fill"])
def test_unknown_languages(client: httpx.Client, route: str) -> None:
    assert assert_refused(client.post(route, json={**ROUTES[route], "source": "qq"})) == (
        "qq is not supported; the languages are xx, yy."
    )
    assert "target language" in assert_refused(
        client.post(route, json={**ROUTES[route], "source": "yy", "target": "xx"})
    )
    strange = assert_refused(client.post(route, json={**ROUTES[route], "target": "\n<b>" * 99}))
    assert len(strange) < 120


@pytest.mark.parametrize("route", ROUTES)
def test_lone_surrogates_and_nuls(client: httpx.Client, route: str) -> None:
    body = json.dumps(ROUTES[route])
    assert "half" in assert_refused(client.post(route, content=body.replace("bane.", "ba\\ud800ne."), headers=JSON))
    assert "NUL" in assert_refused(client.post(route, content=body.replace("bane.", "ba\\u0000ne."), headers=JSON))


def test_nuls_in_forms(client: httpx.Client) -> None:
    assert "NUL" in assert_refused(client.post("/translate", data={**PAIR, "q": "a\0b"}))
    assert_refused(
        client.post(
            "/translate",
            content=b"q=%ff%fe&source=%00&target=yy",
            headers={"content-type": "application/x-www-form-urlencoded"},
        )
    )


def test_a_file_where_text_belongs(client: httpx.Client) -> None:
    assert_refused(client.post("/translate", files={"q": ("a.txt", b"bane.")}, data=PAIR))


@pytest.mark.parametrize(
    "kind", ["text/plain", "", "application/xml", "multipart/form-data", "multipart/form-data; boundary=x"]
)
def test_other_kinds_of_bodies(client: httpx.Client, kind: str) -> None:
    assert_refused(client.post("/translate", content=b"q=bane.", headers={"content-type": kind}))


@pytest.mark.parametrize("route", [*ROUTES, "/translate_file", "/", "/nowhere"])
def test_bodies_of_ten_megabytes(client: httpx.Client, route: str) -> None:
    body = b'{"q": "' + b"a" * 10_000_000 + b'"}'
    assert "larger than" in assert_refused(client.post(route, content=body, headers=JSON), 413)


def test_lists_of_ten_thousand_texts(client: httpx.Client) -> None:
    sentence = assert_refused(client.post("/translate", json={**PAIR, "q": ["a"] * 10_000}))
    assert sentence == "Invalid request: request (10000) exceeds batch limit (100)"


@pytest.mark.parametrize("route", ROUTES)
def test_more_characters_than_are_allowed(client: httpx.Client, route: str) -> None:
    field = "source_text" if route == "/v1/fill" else "q"
    sentence = assert_refused(client.post(route, json={**ROUTES[route], field: "a " * 2_501}))
    assert sentence == "Invalid request: request (5002) exceeds text limit (5000)"


@pytest.mark.parametrize(
    "text",
    ["a" * 700, "🙂é" * 350, "." * 5_000, "x. " * 230, "\u202e\u200d\x07" * 100, "\ufffe\uffff", "<" * 4_000],
)
def test_strange_texts_are_translated_all_the_same(client: httpx.Client, text: str) -> None:
    for kind in ("text", "html"):
        answer = client.post("/translate", json={**PAIR, "q": text, "format": kind})
        assert answer.status_code == 200


def test_unclosed_tags_are_no_mistake(client: httpx.Client) -> None:
    markup = "<div><p>bane.<a href='x<b>luri"
    answer = client.post("/translate", json={**PAIR, "q": markup, "format": "html"})
    assert answer.status_code == 200
    assert answer.json()["translatedText"].startswith("<div><p>")


@pytest.mark.parametrize(
    ("method", "route", "status"),
    [("GET", "/translate", 405), ("PUT", "/v1/fill", 405), ("GET", "/x", 404), ("BREW", "/", 405)],
)
def test_wrong_methods_and_paths(client: httpx.Client, method: str, route: str, status: int) -> None:
    assert_refused(client.request(method, route), status)


def connect(client: httpx.Client) -> socket.socket:
    address = urlsplit(str(client.base_url))
    return socket.create_connection((address.hostname, address.port), timeout=30)


def received(connection: socket.socket) -> bytes:
    """Return all bytes until the server closes the connection."""
    content = b""
    while chunk := connection.recv(65_536):
        content += chunk
    return content


HEAD = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"


@pytest.mark.parametrize("beginning", [HEAD + b'{"q": ', HEAD[:40], b""], ids=["in the body", "in the head", "silent"])
def test_slow_clients_are_told_so_and_others_do_not_wait(running: Running, beginning: bytes) -> None:
    with running(read_timeout=1.0) as client, connect(client) as slow:
        slow.sendall(beginning)
        begin = time.monotonic()
        assert client.post("/translate", json=ROUTES["/translate"]).status_code == 200
        answer = received(slow)
        assert time.monotonic() - begin < 10
        assert answer.startswith(b"HTTP/1.1 408")
        assert b'{"error":"The request ' in answer


def test_a_client_that_drips_gains_no_time(running: Running) -> None:
    with running(read_timeout=1.0) as client, connect(client) as slow:
        begin = time.monotonic()
        slow.settimeout(0.1)
        answer = b""
        while not answer and time.monotonic() - begin < 20:
            slow.sendall(b"G")
            with suppress(TimeoutError):
                answer = slow.recv(1_000)
        assert answer.startswith(b"HTTP/1.1 408")
        assert time.monotonic() - begin < 10


def test_a_request_that_is_no_http_is_answered_and_closed(client: httpx.Client) -> None:
    with connect(client) as connection:
        connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")
        assert received(connection).startswith(b"HTTP/1.1 400")
