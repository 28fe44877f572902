"""What happens to every request around its route, as plain ASGI."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from maskpredict.serve.config import ServiceConfig
from maskpredict.serve.http.errors import INTERNAL, Refusal, refused
from maskpredict.serve.logs import log_bug
from maskpredict.serve.metrics import Metrics

access = logging.getLogger("maskpredict.access")

GONE = 499
"""Stands in logs and metrics for a client that did not wait for its answer."""
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
    """Tells browsers to load nothing from elsewhere, to guess no types and to show the page in no frame."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, with_headers)


class Observer:
    """Counts and logs each request by its route, never by what the client wrote, and answers for bugs."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except Exception as error:
            log_bug(error)
            if not status:
                await refused(Refusal(500, INTERNAL))(scope, receive, watched)
        finally:
            seconds = time.perf_counter() - begin
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST", "OPTIONS") else "other"
            self.metrics.request(route, method, status or GONE, seconds)
            access.info("%s %s %d %.3f s", method, route, status or GONE, seconds)


class Intake:
    """Reads each request whole before its route runs, within limits of size and time, and ends the route when the
    client goes away."""

    def __init__(self, app: ASGIApp, config: ServiceConfig) -> None:
        self.app, self.seconds = app, config.read_timeout
        # A character takes up to twelve bytes, as two escapes of JSON or four of a form; the rest is for other fields.
        self.most = max(12 * config.char_limit, config.file_limit) + 65_536

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self.seconds):
                body = await self._body(receive)
        except TimeoutError:
            body = Refusal(408, f"The request was not complete after {self.seconds:g} seconds.")
        if isinstance(body, Refusal):
            response = refused(body)
            response.headers["Connection"] = "close"
            await response(scope, receive, send)
        elif body is not None:
            await self._run(scope, body, receive, send)

    async def _body(self, receive: Receive) -> bytes | Refusal | None:
        """The body, or why it is not taken; None if the client is gone."""
        body, size, more = bytearray(), 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            chunk, more = message.get("body", b""), message.get("more_body", False)
            size += len(chunk)
            # What is too much is read all the same, and dropped: many clients listen only when they have said all.
            if size <= self.most:
                body += chunk
        return bytes(body) if size <= self.most else Refusal(413, f"The request is larger than {self.most} bytes.")

    async def _run(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        messages = [{"type": "http.request", "body": body, "more_body": False}]
        gone = asyncio.create_task(_disconnect(receive))

        async def replayed() -> Message:
            return messages.pop() if messages else await asyncio.shield(gone)

        route = asyncio.ensure_future(self.app(scope, replayed, send))
        try:
            await asyncio.wait((route, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            left = not route.done()
            route.cancel()
            gone.cancel()
        if left:
            with suppress(asyncio.CancelledError):
                await route
        else:
            route.result()


async def _disconnect(receive: Receive) -> Message:
    while (message := await receive())["type"] != "http.disconnect":
        pass
    return message
