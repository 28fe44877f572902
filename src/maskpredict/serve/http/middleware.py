"""ASGI middleware for every request: security headers, logging and metrics, size and time limits."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from maskpredict.serve.caller import CALLER, Caller
from maskpredict.serve.config import PACKED_FACTOR, ServiceConfig
from maskpredict.serve.http.access import client_of_address
from maskpredict.serve.http.errors import INTERNAL_ERROR, ApiError, error_response
from maskpredict.serve.logs import fields, log_unexpected_error
from maskpredict.serve.metrics import ServiceMetrics
from maskpredict.serve.tracing import Tracing

access_log = logging.getLogger("maskpredict.access")

CLIENT_CLOSED_REQUEST = 499
"""Status in logs and metrics if the client closed the connection before the response."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_CHARSET = re.compile(r"charset\s*=\s*\"?([^\s;\"]*)", re.IGNORECASE)
_CHARSETS = ("utf-8", "utf8", "us-ascii", "iso-8859-1")
_SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class SecurityHeaders:
    """Adds headers that forbid browsers to load from other hosts, to guess content types and to embed the page."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle an ASGI connection."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, with_headers)


class RequestObserver:
    """Counts and logs each request by its route, and turns unexpected errors into status 500."""

    def __init__(self, app: ASGIApp, metrics: ServiceMetrics, tracing: Tracing | None = None) -> None:
        self.app, self.metrics, self.tracing = app, metrics, tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle an ASGI connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 0
        present = _caller_of(scope)
        present.trace = self.tracing.begin(Headers(scope=scope)) if self.tracing else None
        CALLER.set(present)

        async def send_observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-ID"] = present.request_id
            await send(message)

        try:
            await self.app(scope, receive, send_observed)
        except Exception as error:
            log_unexpected_error(error, [present.request_id])
            if not status:
                await error_response(ApiError(500, INTERNAL_ERROR))(scope, receive, send_observed)
        finally:
            present.ended.close()
            seconds = time.perf_counter() - start
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST", "OPTIONS") else "other"
            self.metrics.count_request(route, method, status or CLIENT_CLOSED_REQUEST, seconds)
            _report(method, route, status or CLIENT_CLOSED_REQUEST, seconds, present)


def _caller_of(scope: Scope) -> Caller:
    """Return the client, known by its address so far, and the request's id: the client's, if it is a plain word."""
    given = Headers(scope=scope).get("x-request-id", "")
    address = scope["client"][0] if scope.get("client") else ""
    return Caller(given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8), client_of_address(address))


def _report(method: str, route: str, status: int, seconds: float, present: Caller) -> None:
    """Log a request, and end its trace."""
    details: dict[str, str | int | float] = {
        "request": present.request_id,
        "sentences": present.sentences,
        "positions": present.positions,
        "computing_seconds": round(present.computing_seconds, 4),
    }
    if present.trace is not None:
        present.trace.end(method, route, status, details)
    known = {"method": method, "route": route, "status": status, "seconds": round(seconds, 4)}
    access_log.info("%s %s %d %.3f s", method, route, status, seconds, extra=fields(**known, **details))


class HeadAsGet:
    """Answers HEAD as GET; the server leaves out the body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle an ASGI connection."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        changed = {**scope, "method": "GET"}
        try:
            await self.app(changed, receive, send)
        finally:
            scope["route"] = changed.get("route")  # for metrics and logs


class RequestReader:
    """Reads the whole request before its route runs, within limits of size and time, and cancels the route if the
    client disconnects."""

    def __init__(self, app: ASGIApp, config: ServiceConfig) -> None:
        self.app, self.seconds = app, config.read_timeout
        # A character takes up to 12 bytes: two escapes in JSON, or four in a form. 65,536 bytes are for other fields.
        self.max_bytes = max(12 * config.char_limit, PACKED_FACTOR * config.file_limit) + 65_536

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle an ASGI connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = _refused_head(Headers(scope=scope)) or await self._read_in_time(receive)
        if isinstance(body, ApiError):
            response = error_response(body)
            response.headers["Connection"] = "close"
            await response(scope, receive, send)
        elif body is not None:
            await self._run(scope, body, receive, send)

    async def _read_in_time(self, receive: Receive) -> bytes | ApiError | None:
        try:
            async with asyncio.timeout(self.seconds):
                return await self._read_body(receive)
        except TimeoutError:
            return ApiError(408, f"The request was not complete after {self.seconds:g} seconds.")

    async def _read_body(self, receive: Receive) -> bytes | ApiError | None:
        """Return the body, an error if it is too large, or None if the client has disconnected."""
        body, size, more = bytearray(), 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            chunk, more = message.get("body", b""), message.get("more_body", False)
            size += len(chunk)
            # Excess bytes are read and dropped: many clients read a response only after they have sent everything.
            if size <= self.max_bytes:
                body += chunk
        if size > self.max_bytes:
            return ApiError(413, f"The request is larger than {self.max_bytes} bytes.")
        return bytes(body)

    async def _run(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        messages = [{"type": "http.request", "body": body, "more_body": False}]
        disconnected = asyncio.create_task(_wait_for_disconnect(receive))

        async def receive_again() -> Message:
            return messages.pop() if messages else await asyncio.shield(disconnected)

        route = asyncio.ensure_future(self.app(scope, receive_again, send))
        try:
            await asyncio.wait((route, disconnected), return_when=asyncio.FIRST_COMPLETED)
        finally:
            is_unfinished = not route.done()
            route.cancel()
            disconnected.cancel()
        if is_unfinished:
            with suppress(asyncio.CancelledError):
                await route
        else:
            route.result()


def _refused_head(headers: Headers) -> ApiError | None:
    """Return an error for headers that are dangerous to go on with."""
    if "transfer-encoding" in headers and "content-length" in headers:
        # A proxy may take the other one for the body's end, and so let a second request through in the first's body.
        return ApiError(400, "Invalid request: send Content-Length or Transfer-Encoding, not both")
    charset = _CHARSET.search(headers.get("content-type", ""))
    if charset and charset[1].lower() not in _CHARSETS:
        # Python would take the name of any codec, some of which raise errors or take quadratic time.
        return ApiError(400, "Invalid request: the charset is not supported; send UTF-8")
    return None


async def _wait_for_disconnect(receive: Receive) -> Message:
    while (message := await receive())["type"] != "http.disconnect":
        pass
    return message
