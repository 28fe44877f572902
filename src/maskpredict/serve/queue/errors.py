"""Errors of a service that is too busy."""

from __future__ import annotations


class ServiceBusy(Exception):
    """Request that cannot be answered now; a later attempt may succeed. The message is meant for the client."""

    retry_seconds = 1
    """Seconds after which the client may try again."""


class QueueFull(ServiceBusy):
    """Request that would wait too long."""

    def __init__(self, wait_seconds: float = 1.0) -> None:
        super().__init__("The server is busy; try again in a moment.")
        self.retry_seconds = round(max(1.0, min(60.0, wait_seconds)))


class TooSlow(ServiceBusy):
    """Request that this server could not finish in time even if it did nothing else."""

    retry_seconds = 60

    def __init__(self, needed: float, allowed: float) -> None:
        super().__init__(
            f"The translation would take about {needed:.0f} seconds, and has {allowed:g}; send less text, or ask for "
            "fewer iterations, length_candidates or gaps."
        )
