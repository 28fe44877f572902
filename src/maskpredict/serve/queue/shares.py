"""Clients and their requests in the queue, and how much computing time each has had.

Whoever has had the least comes next (weighted fair queueing): first among the clients, then among the requests of that
client. A newcomer begins with what an always waiting client would have had, so nobody saves up turns, and no stream of
newcomers keeps the others waiting.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskpredict.serve.queue.batch import QueuedSentence
    from maskpredict.serve.tracing import RequestTrace


@dataclass(eq=False)
class ClientShare:
    """A client with requests in the queue."""

    used_seconds: float
    """Computing time it has had, compared with other clients."""
    requests: list[QueuedRequest] = field(default_factory=list)

    @property
    def waiting(self) -> int:
        """Number of its sentences in the queue."""
        return sum(len(request.waiting) for request in self.requests)

    @property
    def unfinished_seconds(self) -> float:
        """Estimated computing time of all its unfinished sentences."""
        return sum(request.unfinished_seconds for request in self.requests)


@dataclass(eq=False)
class QueuedRequest:
    """A request whose sentences are being translated."""

    name: str
    """For logs."""
    client: ClientShare
    used_seconds: float
    """Computing time it has had, compared with other requests of the client."""
    unfinished_seconds: float
    """Estimated computing time of its unfinished sentences."""
    waiting: deque[QueuedSentence] = field(default_factory=deque)
    """Sentences in the queue."""
    computing_seconds: float = 0.0
    """Computing time it has had."""
    in_progress: int = 0
    """Number of its sentences in batches that have started."""
    trace: RequestTrace | None = None
    """Its OpenTelemetry trace, if the service makes any."""

    @property
    def can_start(self) -> bool:
        """True if sentences wait and none is being translated: a request keeps one paused batch in memory, not many."""
        return bool(self.waiting) and not self.in_progress

    @property
    def turn(self) -> tuple[float, float]:
        """The lowest comes next."""
        return self.client.used_seconds, self.used_seconds


class Shares:
    """All clients that have unfinished requests."""

    def __init__(self) -> None:
        self._clients: dict[str, ClientShare] = {}
        self._clock = 0.0
        """Computing time that an always waiting client would have had."""

    def __len__(self) -> int:
        """Return the number of clients with requests."""
        return sum(bool(client.requests) for client in self._clients.values())

    @property
    def requests(self) -> Iterator[QueuedRequest]:
        """All requests."""
        return (request for client in self._clients.values() for request in client.requests)

    @property
    def unfinished_seconds(self) -> float:
        """Estimated computing time of all unfinished sentences."""
        return sum(client.unfinished_seconds for client in self._clients.values())

    def enter(self, client: str, name: str, seconds: float) -> QueuedRequest:
        """Add a request of that many seconds of work."""
        share = self._clients.setdefault(client, ClientShare(self._clock))
        share.used_seconds = max(share.used_seconds, self._clock) if not share.requests else share.used_seconds
        used = min((other.used_seconds for other in share.requests), default=0.0)
        request = QueuedRequest(name, share, used, seconds)
        share.requests.append(request)
        return request

    def leave(self, request: QueuedRequest) -> None:
        """Remove a request, and clients that have none and had no more than their share."""
        request.client.requests.remove(request)
        nobody = not len(self)
        for name, client in list(self._clients.items()):
            if not client.requests and (nobody or client.used_seconds <= self._clock):
                del self._clients[name]

    def charge(self, request: QueuedRequest, seconds: float) -> None:
        """Count computing time that a request has had."""
        request.used_seconds += seconds
        request.computing_seconds += seconds
        request.client.used_seconds += seconds
        self._clock += seconds / max(1, len(self))

    def waiting(self, client: str) -> int:
        """Return the number of a client's sentences in the queue."""
        return self._clients[client].waiting if client in self._clients else 0

    def seconds_until_done(self, client: str, seconds: float) -> float:
        """Return how long work of that many seconds would take a client: the others get as much at most meanwhile."""
        share = self._clients.get(client)
        needed = seconds + (share.unfinished_seconds if share else 0.0)
        others = (other for other in self._clients.values() if other is not share)
        return needed + sum(min(other.unfinished_seconds, needed) for other in others)
