"""Sends random requests to a server, most of them malformed, and counts the answers by status.

    python tests/serve/fuzz_server.py REQUESTS --url URL --seed 1 --output FILE

Requests are bytes on sockets: valid ones for every route, changed at random in their method, path, headers and body.
Ends with status 1 if an answer is a 5xx other than 503, if a complete request gets none, or if the server does not
translate afterwards. Without a URL it starts a server with the model de-en-shallow.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import httpx

_LENGTH, _CODING = (
    re.compile(rb"(?im)^content-length: *(\d{1,9})\r?$"),
    re.compile(rb"(?i)transfer-encoding|expect|upgrade"),
)
_INTERIM = re.compile(rb"^HTTP/1.1 100[^\r]*\r\n\r\n")
THREADS = 32
"""Most of them wait, for answers to requests that may be incomplete."""
PATIENCE, MOMENT = 60.0, 0.2
"""Seconds to wait for an answer, and for one to a request that may be incomplete."""
METHODS = ["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW", "get", ""]
PATHS = [
    "/translate", "/detect", "/languages", "/translate_file", "/frontend/settings", "/health", "/readyz", "/metrics",
    "/v1/translate", "/v1/fill", "/v1/translate/stream", "/docs", "/openapi.json", "/", "/static/main.js",
    "/suggest", "/v1/glossaries", "/v1/glossaries/x", "/v2/translate", "/v2/glossaries", "/v2/glossaries/x/entries",
    "/v2/glossary-language-pairs", "/v3/glossaries", "/v3/glossaries/%2e%2e%2fx",
    "/static/../config.py", "/static/%2e%2e/%2e%2e/config.py", "/download_file/x.txt", "/download_file/..%2fx", "//",
    "*",
]  # fmt: skip
HEADERS = [
    "Content-Type: application/json", "Content-Type: multipart/form-data; boundary=x", "Content-Type: text/plain",
    "Content-Type: application/x-www-form-urlencoded; charset=idna", "Content-Type: multipart/form-data; boundary=",
    "Content-Type: multipart/form-data; boundary=x; charset=undefined", "Transfer-Encoding: chunked",
    "Expect: 100-continue",
    "Content-Length: 5", "Content-Length: -5", "Content-Length: 5, 6", "Connection: close", "Connection: upgrade",
    "Upgrade: h2c", "Upgrade: websocket", "Authorization: Bearer \xff\xfe", "Authorization: Basic",
    "Host: evil.example",
    "Host: [", "X-Forwarded-For: 1.1.1.1, \xff", "X-Request-ID: \x01", "Accept-Encoding: gzip", "Range: bytes=5-2",
    "Range: bytes=-", "If-Modified-Since: never", "Origin: null", "Cookie: a=b;;=", "Content-Encoding: gzip",
]  # fmt: skip
VALUES = [
    None, True, 0, -1, 33, 10**30, 1.5, "", "N", "bane.", "luri tisa.\nkone", "\x00", "\ud800", "🙂",
    "a" * 700, [], {}, ["bane."],
    [None], [["a"]], {"text": "___"}, {"tokens": [None, None]}, {"text": "___ ___ ___", "tokens": []},
    [{"phrase": "ENAB"}],
    [{"phrase": "ENAB", "position": 5}], "xx", "yy", "auto", "html", "text", "fast", "best", "<p>bane.<b",
    "&#0;&#xD800;", "%00",
]  # fmt: skip
CHARSETS = ["utf-8", "idna", "punycode", "undefined", "zlib", "utf-16", "mbcs", '"', "x" * 300]
FIELDS = [
    "q", "source", "target", "format", "alternatives", "api_key", "iterations", "length_candidates", "speed", "trace",
    "pins", "source_text", "template", "file", "", "s", "texts", "src_lang", "tgt_lang", "text", "source_lang",
    "target_lang", "tag_handling", "glossary_id", "name", "entries", "entries_format", "dictionaries", "terms",
]  # fmt: skip
GOOD: dict[str, object] = {
    "q": "bane.", "source": "xx", "target": "yy", "source_text": "bane luri.", "template": {"text": "___."},
    "name": "n", "text": "bane.", "source_lang": "xx", "target_lang": "yy", "entries": "bane\tENAB",
    "entries_format": "tsv",
    "terms": [{"source": "bane", "target": "ENAB"}],
    "dictionaries": [{"source_lang": "xx", "target_lang": "yy", "entries": "bane\tENAB", "entries_format": "tsv"}],
}  # fmt: skip


def request_bytes(chance: random.Random) -> bytes:
    """Return a request, more or less damaged."""
    fields: dict[str, object] = dict(GOOD)
    for _ in range(chance.choice([0, 1, 1, 2, 4])):
        fields[chance.choice(FIELDS)] = chance.choice(VALUES)
    kind, body = _body(fields, chance)
    if chance.random() < 0.1:
        kind += f"; charset={chance.choice(CHARSETS)}"
    path = chance.choice(PATHS)
    if path.endswith("/stream") or chance.random() < 0.1:
        texts = {name: value for name, value in fields.items() if isinstance(value, str) and value != "\ud800"}
        path += f"?{urlencode(texts)}"
    posts = path.startswith(("/translate", "/detect", "/suggest", "/v1/", "/v2/", "/v3/")) and "stream" not in path
    method = chance.choice(METHODS) if chance.random() < 0.15 else "POST" if posts else "GET"
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    if chance.random() < 0.4:
        lines[chance.randrange(1, 4) : chance.choice([3, 4])] = [chance.choice(HEADERS)]
    lines += [chance.choice(HEADERS) for _ in range(chance.choice([0, 0, 1, 3]))]
    raw = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
    return _damaged(raw, chance) if chance.random() < 0.3 else raw


def _body(fields: dict[str, object], chance: random.Random) -> tuple[str, bytes]:
    """Return a content type and a body."""
    form = chance.random()
    if form < 0.6:
        return "application/json", json.dumps(fields).encode()
    texts = {name: str(value) for name, value in fields.items()}
    if form < 0.8:
        return "application/x-www-form-urlencoded", urlencode(texts, errors="replace").encode()
    parts = [
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in texts.items()
    ]
    parts.append('--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nbane.\r\n--x--\r\n')
    return "multipart/form-data; boundary=x", "".join(parts).encode(errors="replace")


def _damaged(raw: bytes, chance: random.Random) -> bytes:
    changed = bytearray(raw)
    for _ in range(chance.choice([1, 2, 8])):
        place = chance.randrange(len(changed))
        action = chance.randrange(4)
        if action == 0:
            changed[place] = chance.randrange(256)
        elif action == 1:
            del changed[place : place + chance.choice([1, 4, 40])]
        elif action == 2:
            changed[place:place] = chance.choice([b"\r\n", b"\x00", b"\xff" * 9, b"{", b'"', b"0\r\n\r\n", b"a" * 300])
        else:
            changed = changed[: place + 1]
        if not changed:
            return b"\r\n"
    return bytes(changed)


def status_of(address: tuple[str, int], raw: bytes) -> str:
    """Return the status of the answer to some bytes, or what happened instead.

    Where the server may wait for the rest of a request, it is told after a moment that there is none.
    """
    patience = PATIENCE if _is_complete(raw) else MOMENT
    with suppress(OSError), socket.create_connection(address, timeout=patience) as connection:
        connection.sendall(raw)
        answer = b""
        while b"\r\n" not in (answer := _INTERIM.sub(b"", answer)) or answer.startswith(b"HTTP/1.1 100"):
            try:
                chunk = connection.recv(4_096)
            except TimeoutError:
                if patience == PATIENCE:
                    return "no answer"
                connection.settimeout(PATIENCE)
                connection.shutdown(socket.SHUT_WR)
                continue
            if not chunk:
                return "none"
            answer += chunk
        return answer[9:12].decode("latin-1")
    return "reset"


def _is_complete(raw: bytes) -> bool:
    """Whether no server could wait for more of a request."""
    head, blank_line, body = raw.partition(b"\r\n\r\n")
    lengths = _LENGTH.findall(head)
    if _CODING.search(head) or not blank_line or len(lengths) != 1:
        return False
    return len(body) >= int(lengths[0])


def send_many(address: tuple[str, int], count: int, seed: int, deadline: float) -> tuple[Counter[str], list[bytes]]:
    """Return the number of answers by status, and the requests that were errors of the server."""
    chance, statuses, wrong = random.Random(seed), Counter[str](), []
    for number in range(count):
        if time.monotonic() > deadline:
            break
        raw = request_bytes(chance)
        status = status_of(address, raw)
        statuses[status] += 1
        if status == "no answer" or (status.startswith("5") and status != "503"):
            wrong.append(raw)
        if number % 5_000 == 4_999:
            print(f"{number + 1} requests, seed {seed}", file=sys.stderr)
    return statuses, wrong


def fuzz(url: str, count: int, seed: int, minutes: float = float("inf"), output: Path | None = None) -> bool:
    """Send requests from each thread, print the counts as JSON, and return True if all went well."""
    deadline = time.monotonic() + 60 * minutes
    parts, statuses, wrong = urlsplit(url), Counter[str](), list[bytes]()
    source = next(language for language in httpx.get(f"{url}/languages").json() if language["targets"])
    pair = {"source": source["code"], "target": source["targets"][0]}
    GOOD.update(pair, source_lang=pair["source"], target_lang=pair["target"])
    with ThreadPoolExecutor(THREADS) as pool:
        seeds = range(seed * 1_000, seed * 1_000 + THREADS)
        address = str(parts.hostname), parts.port or 80
        for some, bad in pool.map(lambda one: send_many(address, count, one, deadline), seeds):
            statuses += some
            wrong += bad
    alive = httpx.post(f"{url}/translate", json={"q": "bane.", **pair}, timeout=PATIENCE).status_code == 200
    result = {
        "command": f"python tests/serve/fuzz_server.py {THREADS * count} --seed {seed}"
        + (f" --minutes {minutes:g}" if minutes < float("inf") else ""),
        "requests": statuses.total(),
        "statuses": dict(sorted(statuses.items())),
        "errors_of_the_server": len(wrong),
        "translates_afterwards": alive,
    }
    text = json.dumps(result, indent=2)
    print(text)
    if output:
        output.write_text(text + "\n")
    for raw in wrong[:5]:
        print(repr(raw), file=sys.stderr)
    return alive and not wrong


@contextmanager
def server() -> Iterator[str]:
    """A server of its own, at the address that is returned."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "maskpredict.cli", "serve", "-m", "de-en-shallow", "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        if not _listens(port):
            sys.exit("the server did not start")
        yield url
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    for _ in range(600):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return True
        time.sleep(0.1)
    return False


def main() -> None:
    """Fuzz the server at a URL, or one of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("requests", type=int)
    parser.add_argument("--url")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop earlier, after so many minutes")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    with nullcontext(arguments.url) if arguments.url else server() as url:
        count = -(-arguments.requests // THREADS)
        sys.exit(not fuzz(url, count, arguments.seed, arguments.minutes, arguments.output))


if __name__ == "__main__":
    main()
