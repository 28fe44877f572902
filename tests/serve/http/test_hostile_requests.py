"""Requests made to confuse: codecs, smuggling, forged headers, a full disk."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

Running = Callable[..., AbstractContextManager[httpx.Client]]
ClientAt = Callable[[str, httpx.Client], AbstractContextManager[httpx.Client]]

PAIR = {"source": "xx", "target": "yy"}
BODY = {"q": "bane.", **PAIR}


def exchanged(client: httpx.Client, request: bytes) -> bytes:
    """Send bytes, and return all that the server answers until it closes the connection."""
    address = urlsplit(str(client.base_url))
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(request)
        answer = b""
        while chunk := connection.recv(65_536):
            answer += chunk
    return answer


@pytest.mark.parametrize("charset", ["undefined", "idna", "punycode", "zlib", "no-such-codec", '"idna"', ""])
@pytest.mark.parametrize("route", ["/translate", "/detect", "/translate_file"])
def test_forms_in_strange_charsets(client: httpx.Client, route: str, charset: str) -> None:
    part = f'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\n{"ä" * 20_000}\r\n--x--\r\n'.encode()
    begin = time.monotonic()
    answer = client.post(
        route, content=part, headers={"Content-Type": f"multipart/form-data; boundary=x; charset={charset}"}
    )
    assert time.monotonic() - begin < 5
    assert answer.status_code == 400
    assert answer.json() == {"error": "Invalid request: the charset is not supported; send UTF-8"}


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", '"utf-8"'])
def test_forms_in_utf_8(client: httpx.Client, charset: str) -> None:
    kind = f"application/x-www-form-urlencoded; charset={charset}"
    answer = client.post("/translate", content=b"q=bane.&source=xx&target=yy", headers={"Content-Type": kind})
    assert answer.status_code == 200


def test_a_request_with_two_lengths_is_refused_and_nothing_behind_it_is_served(client: httpx.Client) -> None:
    smuggled = b"GET /languages HTTP/1.1\r\nHost: x\r\n\r\n"
    head = (
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % (len(smuggled) + 5)
    )
    answer = exchanged(client, head + smuggled)
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1
    assert b'{"error":"Invalid request: send Content-Length or Transfer-Encoding, not both"}' in answer


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nBad Name: y\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=lambda value: value[:60].decode(),
)
def test_errors_of_the_protocol_are_json_too(client: httpx.Client, request_bytes: bytes) -> None:
    answer = exchanged(client, request_bytes)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith((b"HTTP/1.1 400", b"HTTP/1.1 501"))
    assert set(json.loads(body)) == {"error"}


@pytest.mark.parametrize(
    "path", ["/", "/languages", "/frontend/settings", "/health", "/openapi.json", "/static/main.js"]
)
def test_head_is_get_without_the_body(client: httpx.Client, path: str) -> None:
    get, head = client.get(path), client.head(path)
    assert head.status_code == get.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == str(len(get.content))
    assert head.headers["content-type"] == get.headers["content-type"]


def test_metrics_count_head_by_its_route(client: httpx.Client) -> None:
    client.head("/frontend/settings")
    lines = [line for line in client.get("/metrics").text.splitlines() if 'method="HEAD"' in line]
    assert any('route="/frontend/settings"' in line for line in lines)


def test_a_key_may_have_any_letters_as_bearer_too(running: Running, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("schlüssel-🔑\n", encoding="utf-8")
    with running(api_keys_file=tmp_path / "keys") as client:
        for key, status in (("schlüssel-🔑", 200), ("schlussel", 403)):
            bearer: Any = {"Authorization": f"Bearer {key}".encode()}
            assert client.post("/translate", json=BODY, headers=bearer).status_code == status


def test_a_forged_address_is_believed_from_trusted_proxies_alone(running: Running, client_at: ClientAt) -> None:
    def statuses(client: httpx.Client) -> list[int]:
        headers = [{"X-Forwarded-For": f"192.0.2.{number}"} for number in range(3)]
        return [client.post("/translate", json=BODY, headers=each).status_code for each in headers]

    with running(rate_limit=1) as client:
        assert statuses(client) == [200, 429, 429]
    with running(rate_limit=1, trusted_proxies=("127.0.0.2",)) as client:
        assert statuses(client) == [200, 429, 429]
        with client_at("127.0.0.2", client) as proxy:
            assert statuses(proxy) == [200, 200, 200]


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("evil.example", "http://127.0.0.1:{port}"),
        ("evil.example:80", "http://127.0.0.1:{port}"),
        ("192.0.2.1", "http://127.0.0.1:{port}"),
        ("localhost:8000", "http://localhost:8000"),
    ],
)
def test_the_address_of_a_file_is_not_the_one_that_a_client_claims(
    client: httpx.Client, host: str, address: str
) -> None:
    answer = client.post("/translate_file", data=PAIR, files={"file": ("a.txt", b"bane.")}, headers={"Host": host})
    expected = address.format(port=urlsplit(str(client.base_url)).port)
    assert answer.json()["translatedFileUrl"].startswith(f"{expected}/download_file/")


def test_the_address_of_a_file_can_be_configured(running: Running) -> None:
    with running(public_url="https://translate.example.org/mt/") as client:
        answer = client.post("/translate_file", data=PAIR, files={"file": ("a.txt", b"bane.")})
        address = answer.json()["translatedFileUrl"]
        assert address.startswith("https://translate.example.org/mt/download_file/")
        assert client.get(address.removeprefix("https://translate.example.org/mt")).status_code == 200


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of 64 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], capture_output=True)
    if mounted.returncode:
        lacking = "needs the right to mount a small file system"
        pytest.fail(lacking) if os.environ.get("CI") else pytest.skip(lacking)
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_is_no_error_of_the_server_and_leaves_nothing_behind(running: Running, small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(b"x" * 58_000)
    file = {"file": ("a.txt", b"123456\n" * 3_000)}
    with running(files_folder=small_disk) as client:
        answer = client.post("/translate_file", data=PAIR, files=file)
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "60"
        assert answer.json() == {"error": "The server cannot keep the file now; try again later."}
        assert [path.name for path in small_disk.iterdir() if path.is_file()] == ["ballast"]
        (small_disk / "ballast").unlink()
        assert client.post("/translate_file", data=PAIR, files=file).status_code == 200


def test_a_request_id_comes_back_if_it_is_a_plain_word(client: httpx.Client) -> None:
    assert client.get("/health", headers={"X-Request-ID": "job-7.a_b"}).headers["x-request-id"] == "job-7.a_b"
    forged = client.get("/health", headers={"X-Request-ID": "a b\tINFO forged"}).headers["x-request-id"]
    assert len(forged) == 16
    assert client.get("/health").headers["x-request-id"] != client.get("/health").headers["x-request-id"]
