"""The page and its files, the API reference, health, metrics and security headers."""

from __future__ import annotations

import re

import httpx
import pytest

CONTENT_SECURITY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"


def test_the_page_is_there_with_everything_it_names(client: httpx.Client) -> None:
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    named = set(re.findall(r'(?:src|href)="(static/[^"#]+)', page.text))
    assert len(named) > 3
    for path in named:
        assert client.get(f"/{path}").status_code == 200


@pytest.mark.parametrize(
    ("suffix", "kind"),
    [("js", "text/javascript; charset=utf-8"), ("css", "text/css; charset=utf-8"), ("svg", "image/svg+xml")],
)
def test_files_have_their_types_and_are_kept_until_they_change(client: httpx.Client, suffix: str, kind: str) -> None:
    (path, *_) = re.findall(rf'"(static/[^"#]+\.{suffix})', client.get("/").text)
    first = client.get(f"/{path}")
    assert first.headers["content-type"] == kind
    assert first.headers["cache-control"] == "no-cache"
    again = client.get(f"/{path}", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    "path",
    ["static/", "static/nothing.js", "static/../run.py", "static/%2e%2e/run.py", "static//etc/passwd", "static/%00"],
)
def test_nothing_else_can_be_fetched(server_url: str, path: str) -> None:
    request = httpx.Request("GET", f"{server_url}/x", extensions={"target": f"/{path}".encode()})
    with httpx.Client() as client:
        assert client.send(request).status_code == 404


@pytest.mark.parametrize("path", ["/", "/languages", "/docs", "/nowhere", "/metrics", "/translate"])
def test_every_answer_tells_browsers_to_be_careful(client: httpx.Client, path: str) -> None:
    headers = client.get(path).headers
    assert headers["content-security-policy"] == CONTENT_SECURITY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


def test_the_reference_names_every_route_and_asks_nothing_of_the_network(client: httpx.Client) -> None:
    reference = client.get("/docs").text
    for path in client.get("/openapi.json").json()["paths"]:
        assert path in reference
    assert re.findall(r"https?://\S+", reference) == []
    assert "<script" not in reference
    assert client.get("/docs/style.css").headers["content-type"].startswith("text/css")


@pytest.mark.parametrize("path", ["/health", "/healthz", "/readyz"])
def test_health(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")


def test_metrics_have_all_that_an_operator_asks_for_under_few_labels(client: httpx.Client) -> None:
    client.post("/translate", json={"q": "bane.", "source": "xx", "target": "yy"})
    for number in range(5):
        client.request(f"M{number}", f"/nowhere/{number}")
    text = client.get("/metrics").text
    for name in ("request_seconds", "tokens_total", "batch_sentences", "batch_seconds", "queue_sentences", "passes"):
        assert f"maskpredict_{name}" in text
    assert set(re.findall(r'route="([^"]*)"', text)) >= {"/translate", "other"}
    assert "nowhere" not in text
    assert set(re.findall(r'method="([^"]*)"', text)) <= {"GET", "POST", "HEAD", "OPTIONS", "other"}
