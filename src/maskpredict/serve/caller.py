"""The client behind the code that runs: set for each HTTP request, read by the queue and by the logs."""

from __future__ import annotations

from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskpredict.serve.tracing import RequestTrace


@dataclass
class Caller:
    """An HTTP request and its client."""

    request_id: str = "-"
    """Name of the request in logs and in the header X-Request-ID."""
    client: str = ""
    """Address or API key, shortened to a digest; clients take turns."""
    sentences: int = 0
    """Sentences that it had translated."""
    positions: int = 0
    """Price of these sentences."""
    computing_seconds: float = 0.0
    """Its share of the time of the batches."""
    trace: RequestTrace | None = None
    """Its OpenTelemetry trace, if the service makes any."""
    ended: ExitStack = field(default_factory=ExitStack)
    """Closed when the request is over, however it ends."""


CALLER: ContextVar[Caller] = ContextVar("caller")


def caller() -> Caller:
    """Return the present caller; outside of a request, a new one without a name."""
    return CALLER.get(None) or Caller()
