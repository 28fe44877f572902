"""Real servers on real sockets: processes of `maskpredict serve`, and servers in a thread for other configs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
import uvicorn

from maskpredict.runtime.translator import Translator
from maskpredict.serve.config import ServiceConfig
from maskpredict.serve.http.app import create_app
from maskpredict.serve.run import uvicorn_config
from maskpredict.serve.tracing import Tracing

PATIENCE = 60.0
WaitUntil = Callable[[Callable[[], bool]], None]


def _wait_until(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def _is_up(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").status_code == 200
    except httpx.TransportError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _started(model: Path, log_file: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "maskpredict.cli", "serve", "--model", str(model), "--port", str(port), *options]
    with log_file.open("wb") as log:
        process = subprocess.Popen(command, stderr=log, env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        _wait_until(lambda: _is_up(url) or process.poll() is not None)
        assert process.poll() is None, log_file.read_text()
        yield url, process
    finally:
        process.terminate()
        process.wait(PATIENCE)


@contextmanager
def _running(config: ServiceConfig, tracing: Tracing | None = None) -> Iterator[httpx.Client]:
    server = uvicorn.Server(uvicorn_config(create_app(config, tracing), config))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            _wait_until(lambda: server.started)
            with httpx.Client(
                base_url=f"http://127.0.0.1:{listening.getsockname()[1]}",
                timeout=PATIENCE,
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
            ) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join(PATIENCE)


@pytest.fixture(scope="session")
def wait_until() -> WaitUntil:
    """Waits until a condition is true, or fails."""
    return _wait_until


@pytest.fixture(scope="session")
def started() -> Callable[..., AbstractContextManager[tuple[str, subprocess.Popen[bytes]]]]:
    """Starts `maskpredict serve` with a model, a log file and options; yields its address and its process."""
    return _started


@pytest.fixture
def running(cmlm_folder: Path) -> Callable[..., AbstractContextManager[httpx.Client]]:
    """Starts a server in a thread with the given settings; yields a client of it."""
    config = ServiceConfig(models=(str(cmlm_folder),))
    return lambda tracing=None, **settings: _running(replace(config, **settings), tracing)


@contextmanager
def _client_at(address: str, server: httpx.Client) -> Iterator[httpx.Client]:
    transport = httpx.HTTPTransport(local_address=address)
    with httpx.Client(base_url=server.base_url, transport=transport, timeout=PATIENCE) as client:
        yield client


@pytest.fixture(scope="session")
def client_at() -> Callable[[str, httpx.Client], AbstractContextManager[httpx.Client]]:
    """Opens a client with a loopback address of its own, for the server of another client."""
    return _client_at


@pytest.fixture(scope="session")
def translated(cmlm_folder: Path) -> Callable[[str], str]:
    """Translates a sentence with the Translator; a server must return the same."""
    translator = Translator(cmlm_folder)
    return lambda sentence: translator.translate([sentence])[0].text


@pytest.fixture(scope="session")
def server_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Log file of the shared server."""
    return tmp_path_factory.mktemp("server") / "log"


@pytest.fixture(scope="session")
def server_url(cmlm_folder: Path, server_log: Path) -> Iterator[str]:
    """A server with the default settings, shared by all tests that do not change it."""
    with _started(cmlm_folder, server_log) as (url, _):
        yield url


@pytest.fixture
def client(server_url: str) -> Iterator[httpx.Client]:
    """A client of the shared server."""
    with httpx.Client(base_url=server_url, timeout=PATIENCE) as opened:
        yield opened
