"""Errors of a service that is too busy."""

from __future__ import annotations


class ServiceBusy(Exception):
    """Request that cannot be answered now; a later attempt may succeed. The message is meant for the client."""


class QueueFull(ServiceBusy):
    """Request with more sentences than the queue has room for."""

    def __init__(self) -> None:
        super().__init__("The server is busy; try again in a moment.")
