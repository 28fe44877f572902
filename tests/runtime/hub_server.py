"""A local server that speaks as much of the Hugging Face hub's API as downloading a model needs."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

from maskpredict.model.folder import WEIGHTS_FILE


@dataclass
class Hub:
    """Repositories by `owner/name`, each with a folder by revision, and what goes wrong."""

    repositories: Mapping[str, Mapping[str, Path]]
    fault: str = ""
    """Empty, `silent`: requests are never answered, or `truncated`: weights end in the middle."""
    held: threading.Event = field(default_factory=threading.Event)
    """Weights are sent in full once this is set."""
    sending: threading.Event = field(default_factory=threading.Event)
    """Set when weights are about to be sent."""
    requests: list[str] = field(default_factory=list)
    url: str = ""


@contextmanager
def running(hub: Hub) -> Iterator[Hub]:
    """Serve the hub's repositories on a free port."""

    class Handler(_Handler):
        served = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hub
    finally:
        hub.held.set()
        server.shutdown()
        thread.join()
        server.server_close()


def commit_of(folder: Path) -> str:
    """A commit of forty hexadecimal digits for a folder."""
    return hashlib.sha1(str(folder).encode()).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    served: Hub

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def log_message(self, format: str, *arguments: object) -> None:
        self.served.requests.append(f"{self.command} {self.path}")

    def _answer(self, *, with_body: bool) -> None:
        if self.served.fault == "silent":
            self.served.held.wait()
            return
        match self.path.partition("?")[0].strip("/").split("/"):
            case ["api", "models", owner, name, "revision", revision]:
                self._describe(f"{owner}/{name}", unquote(revision))
            case [owner, name, "resolve", commit, file]:
                self._send_file(f"{owner}/{name}", commit, file, with_body)
            case _:
                self._refuse("EntryNotFound")

    def _describe(self, repository: str, revision: str) -> None:
        folders = self.served.repositories.get(repository)
        if folders is None:
            return self._refuse("RepoNotFound")
        if revision not in folders:
            return self._refuse("RevisionNotFound")
        files = [{"rfilename": path.name} for path in sorted(folders[revision].iterdir())]
        answer = {"id": repository, "modelId": repository, "sha": commit_of(folders[revision]), "siblings": files}
        self._send(json.dumps(answer).encode(), {"Content-Type": "application/json"}, with_body=True)

    def _send_file(self, repository: str, commit: str, file: str, with_body: bool) -> None:
        (folder,) = (one for one in self.served.repositories[repository].values() if commit_of(one) == commit)
        content = (folder / file).read_bytes()
        headers = {"X-Repo-Commit": commit, "ETag": f'"{hashlib.sha256(content).hexdigest()}"'}
        if file == WEIGHTS_FILE and with_body:
            self.served.sending.set()
            if self.served.fault == "truncated":
                return self._send(content, headers, with_body=True, end=len(content) // 2)
            if self.served.fault == "held":
                self.served.held.wait()
        self._send(content, headers, with_body=with_body)

    def _send(self, content: bytes, headers: Mapping[str, str], *, with_body: bool, end: int | None = None) -> None:
        self.send_response(200)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(content[:end])

    def _refuse(self, code: str) -> None:
        self.send_response(404)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()
