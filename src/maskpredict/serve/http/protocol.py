"""HTTP/1.1 with a timeout for the request head, and errors as JSON."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


def _error_response(status: str, message: str) -> bytes:
    body = json.dumps({"error": message}, separators=(",", ":")).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


_TIMEOUT = _error_response("408 Request Timeout", "The request headers did not arrive in time.")
_INVALID = _error_response("400 Bad Request", "Invalid request: this is not HTTP/1.1")


class HeaderTimeoutProtocol(H11Protocol):
    """Closes a connection if the head of a request is not complete after `timeout_keep_alive` seconds.

    uvicorn itself waits without limit, so idle or slow clients could use up all file descriptors.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for a new connection."""
        super().connection_made(transport)
        self._update_timer()

    def data_received(self, data: bytes) -> None:
        """Handle data, and stop the timer if a request head is complete."""
        super().data_received(data)
        self._update_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer of a closed connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not HTTP, and close the connection."""
        self.transport.write(_INVALID)
        self.transport.close()

    def _update_timer(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timer()  # the head is complete; the middleware limits the time for the body
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self.timeout_keep_alive, self._close_late)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _close_late(self) -> None:
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            self.transport.write(_TIMEOUT)
            self.transport.close()
