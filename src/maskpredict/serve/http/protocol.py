"""HTTP with little patience: who opens a connection must soon say what it wants."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

_BODY = b'{"error":"The request did not come in time."}'
_TOO_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY)
)


class PunctualProtocol(H11Protocol):
    """Gives a client `timeout_keep_alive` seconds for the head of a request, however it drips in.

    uvicorn itself waits for ever, so that some thousand sleeping clients would take all file descriptors.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """A client has said something."""
        super().data_received(data)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """A client has gone."""
        self._forget()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._forget()  # its head is here; from now on others watch
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self.timeout_keep_alive, self._too_late)

    def _forget(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _too_late(self) -> None:
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            self.transport.write(_TOO_LATE)
            self.transport.close()
