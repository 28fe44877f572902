"""The page in a real browser, served by the real `maskpredict serve` with the toy model, one for each direction."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

from maskpredict.export.browser_runtime import PACKAGE, VERSION
from maskpredict.languages import Languages
from maskpredict.model.folder import ModelFolder

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE = 120.0
"""Seconds a server may take to start on a busy machine."""

expect.set_options(timeout=30_000)


class Server:
    """A server process that can go away and come back at the same address."""

    def __init__(self, models: list[Path], log: Path, *options: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self.log = log
        self.arguments = [*options, *(part for model in models for part in ("--model", str(model)))]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, and wait until it answers."""
        command = [sys.executable, "-m", "maskpredict.cli", "serve", "--port", str(self.port), "--threads", "1"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([*command, *self.arguments], stderr=log)
        deadline = time.monotonic() + PATIENCE
        while not self._ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"the server did not start:\n{self.log.read_text()}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop it as a terminal does."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(timeout=PATIENCE)

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


class Visit:
    """A page, and everything it asked for and complained about."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.requested: list[str] = []
        self.asked: list[dict[str, Any]] = []
        """Bodies of the requests for translations of texts."""
        self.complaints: list[str] = []
        page.on("request", self._request)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _request(self, request: Request) -> None:
        self.requested.append(request.url)
        if "/v1/" in request.url and request.headers.get("content-type") == "application/json":
            self.asked.append(json.loads(request.post_data or "null"))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def open(self, fragment: str = "") -> Page:
        """Load the page as it is for a new visitor."""
        self.page.goto(f"{self.url}{fragment}")
        expect(self.page.locator("#target-language option")).not_to_have_count(0)
        return self.page

    def translated(self, text: str, **settings: str) -> Page:
        """Load the page with a text from xx to yy, and wait for its passes."""
        given = {"from": "xx", "to": "yy", **settings, "q": text}
        page = self.open("#" + "&".join(f"{key}={value.replace(' ', '+')}" for key, value in given.items()))
        expect(page.locator(".row.last")).to_be_visible()
        return page


@pytest.fixture(scope="module")
def server(browser: Browser, cmlm_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The toy model from xx to yy, and (with nonsense as result) the same one from yy to xx, so that one can swap.

    It asks for the browser only to come after it: where there is none, nothing needs to be trained and started.
    """
    folder = tmp_path_factory.mktemp("served")
    contents = ModelFolder.read(cmlm_folder)
    replace(contents, languages=Languages("yy", "xx")).write(folder / "back")
    served = Server([cmlm_folder, folder / "back"], folder / "log")
    served.start()
    yield served
    served.stop()


@pytest.fixture
def locked_server(cmlm_folder: Path, tmp_path: Path) -> Iterator[Server]:
    """A server that asks for the key `sesame`."""
    keys = tmp_path / "keys"
    keys.write_text("sesame\n")
    served = Server([cmlm_folder], tmp_path / "log", "--api-keys-file", str(keys))
    served.start()
    yield served
    served.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium. Without one these tests are left out, except in CI, where it must be there."""
    if CHROMIUM is None:
        sentence = "there is no Chromium on this machine, so the page was not tested; apt-get install chromium adds it"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(sentence)
    # Not for the whole session: as long as it is open, no other test can run an event loop of its own.
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def new_context(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Makes contexts, each like a browser that was never used."""
    contexts: list[BrowserContext] = []

    def make(**options: Any) -> BrowserContext:
        contexts.append(browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options}))
        return contexts[-1]

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def new_visit(server: Server, new_context: Callable[..., BrowserContext]) -> Iterator[Callable[..., Visit]]:
    """Makes visits to the page. At the end none of them may have asked elsewhere or complained."""
    visits: list[Visit] = []

    def make(url: str = server.url, **options: Any) -> Visit:
        visits.append(Visit(new_context(**options).new_page(), url))
        return visits[-1]

    yield make
    for visit in visits:
        assert [url for url in visit.requested if not url.startswith(visit.url)] == []
        assert visit.complaints == []


@pytest.fixture
def visit(new_visit: Callable[..., Visit]) -> Visit:
    """A visit with the usual settings."""
    return new_visit()


@pytest.fixture(scope="module")
def host(browser: Browser) -> Iterator[Callable[[Path], str]]:
    """Puts a folder behind `python -m http.server`, the plainest of web servers, and gives its address."""
    with ExitStack() as servers:

        def serve(folder: Path) -> str:
            command = [
                sys.executable,
                "-u",
                "-m",
                "http.server",
                "0",
                "--bind",
                "127.0.0.1",
                "--directory",
                str(folder),
            ]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            servers.enter_context(process)
            servers.callback(process.terminate)
            assert process.stdout is not None
            port = re.search(r"port (\d+)", process.stdout.readline())
            assert port is not None
            return f"http://127.0.0.1:{port[1]}/"

        yield serve


def left_out(sentence: str) -> None:
    """Leave tests out where something is missing, except in CI, where it must be there."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(sentence)


@pytest.fixture(scope="module")
def runtime(browser: Browser) -> Path:
    """The npm package onnxruntime-web, fetched once and kept in the virtual environment."""
    kept = Path(sys.prefix) / "share" / f"{PACKAGE}-{VERSION}.tgz"
    if not kept.exists():
        npm = shutil.which("npm")
        if npm is None:
            left_out(f"there is no npm to fetch {PACKAGE}, so exported pages were not run; apt-get install npm adds it")
        place = kept.with_name(f"{kept.name}.{os.getpid()}")
        place.mkdir(parents=True)
        subprocess.run([str(npm), "pack", f"{PACKAGE}@{VERSION}", "--pack-destination", place], check=True)
        next(place.glob("*.tgz")).rename(kept)
        place.rmdir()
    return kept


@pytest.fixture
def open_page(url: str, new_context: Callable[..., BrowserContext]) -> Iterator[Callable[..., Page]]:
    """Opens the page. At the end nothing may have been asked elsewhere, and nothing complained about."""
    requested: list[str] = []
    complaints: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        # The browser asks for the tab's icon again when the page's address changes.
        if not message.location["url"].endswith("/icon.svg"):
            complaints.append(f"{message.type}: {message.text} {message.location}")

    def make(fragment: str = "", **options: Any) -> Page:
        page = new_context(**options).new_page()
        page.context.on("request", lambda request: requested.append(request.url))
        page.on("console", hear)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url + fragment)
        return page

    yield make
    assert requested
    assert [address for address in requested if not address.startswith(url)] == []
    assert complaints == []
