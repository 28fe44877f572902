"""SIGINT and SIGTERM as requests to stop after the current update."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def catch_signals() -> Iterator[list[int]]:
    """Yield a list that receives the number of a signal; a second signal raises KeyboardInterrupt at once."""
    received: list[int] = []

    def handle(number: int, frame: object) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    if threading.current_thread() is not threading.main_thread():  # only there can Python handle signals
        yield received
        return
    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
