"""API keys, rate limits, size limits and CORS."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from maskpredict.errors import UserError
from maskpredict.serve.config import ServiceConfig
from maskpredict.serve.http.access import read_api_keys

Running = Callable[..., AbstractContextManager[httpx.Client]]

PAIR = {"source": "xx", "target": "yy"}
BODY = {"q": "bane.", **PAIR}


@pytest.fixture
def keys_file(tmp_path: Path) -> Path:
    path = tmp_path / "keys"
    path.write_text("# for the tests\nopen-sesame\n\n  schlüssel  \n", encoding="utf-8")
    return path


def test_without_a_key_nothing_is_translated_and_with_one_everything_is(running: Running, keys_file: Path) -> None:
    fill = {"source_text": "bane.", "template": {"text": "___"}, **PAIR}
    requests: list[tuple[str, str, dict[str, dict[str, Any]]]] = [
        ("POST", "/translate", {"json": BODY}),
        ("POST", "/translate", {"data": BODY}),
        ("POST", "/detect", {"json": {"q": "bane."}}),
        ("POST", "/v1/translate", {"json": BODY}),
        ("POST", "/v1/fill", {"json": fill}),
        ("GET", "/v1/translate/stream", {"params": BODY}),
        ("POST", "/translate_file", {"data": PAIR}),
    ]
    with running(api_keys_file=keys_file) as client:
        assert client.get("/frontend/settings").json()["keyRequired"] is True
        assert client.get("/languages").status_code == 200
        for method, route, options in requests:
            ((place, body),) = options.items()
            files = {"file": ("a.txt", b"bane.")} if route == "/translate_file" else None
            for key, status in ((None, 403), ("wrong", 403), ("open-sesame", 200), ("schlüssel", 200)):
                given: dict[str, Any] = {place: body if key is None else {**body, "api_key": key}}
                answer = client.request(method, route, files=files, **given)
                assert answer.status_code == status, (route, key)
        bearer = {"Authorization": "Bearer open-sesame"}
        assert client.post("/translate", json=BODY, headers=bearer).status_code == 200
        assert client.post("/translate", json=BODY).json() == {"error": "This server asks for an API key"}
        assert client.post("/translate", json={**BODY, "api_key": "x"}).json() == {"error": "Invalid API key"}


def test_a_file_without_keys_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_api_keys(tmp_path / "nowhere")
    (tmp_path / "empty").write_text("# nothing\n")
    with pytest.raises(UserError, match="has no API key"):
        read_api_keys(tmp_path / "empty")


def test_too_many_requests_a_minute_are_refused(running: Running) -> None:
    with running(rate_limit=3) as client:
        answers = [client.post("/translate", json=BODY) for _ in range(5)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
        assert answers[-1].json() == {"error": "Slowdown: at most 3 requests a minute"}
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 21
        assert client.get("/languages").status_code == 200


def test_limits_can_be_set(running: Running) -> None:
    with running(char_limit=10, batch_limit=2) as client:
        assert client.get("/frontend/settings").json()["charLimit"] == 10
        for texts, status in ((["a" * 10], 200), (["a" * 11], 400), (["a"] * 2, 200), (["a"] * 3, 400)):
            assert client.post("/translate", json={**PAIR, "q": texts}).status_code == status


def test_other_sites_may_ask_only_if_they_are_named(running: Running, client: httpx.Client) -> None:
    origin = {"Origin": "https://example.org"}
    assert "access-control-allow-origin" not in client.get("/languages", headers=origin).headers
    with running(cors_origins=("https://example.org",)) as open_to_one:
        allowed = open_to_one.get("/languages", headers=origin)
        assert allowed.headers["access-control-allow-origin"] == "https://example.org"
        other = open_to_one.get("/languages", headers={"Origin": "https://example.com"})
        assert "access-control-allow-origin" not in other.headers
        asked = {**origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
        assert open_to_one.options("/translate", headers=asked).status_code == 200


@pytest.mark.parametrize("name", ["workers", "max_queue", "timeout", "char_limit", "threads", "batch_tokens"])
def test_settings_that_make_no_sense_are_refused(name: str) -> None:
    given: dict[str, Any] = {name: 0}
    with pytest.raises(UserError, match=f"{name} is 0; use a number above 0"):
        ServiceConfig(**given)
