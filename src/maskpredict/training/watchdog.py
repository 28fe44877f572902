"""A watchdog that ends a training process without progress, with the stacks of its threads.

One process of many that waits for ever, for a file system or for a lock, makes all others wait in their next
all-reduce. Each then says where it is, so the one that is elsewhere is the culprit; and torchrun starts all again.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
from types import TracebackType

STUCK = 70
"""Exit code of a process that was stuck."""


class Watchdog:
    """Watches the thread that calls `progress`, from the beginning to the end of a `with` block."""

    def __init__(self, rank: int, seconds: float | None) -> None:
        """Allow `seconds` between two calls of `progress`; None allows any time."""
        self.rank, self.seconds = rank, seconds
        self.calls, self.doing = 0, "the start"
        self.ended = threading.Event()

    def progress(self, doing: str) -> None:
        """Report progress; `doing` names what begins now."""
        self.calls, self.doing = self.calls + 1, doing

    def _watch(self, seconds: float) -> None:
        tick, waited, seen = min(1.0, seconds / 4), 0.0, -1
        # Ticks are counted, not the clock: it goes on while the process is stopped or the machine sleeps.
        while not self.ended.wait(tick):
            waited = waited + tick if self.calls == seen else 0.0
            seen = self.calls
            if waited >= seconds:
                self._end(seconds)

    def _end(self, seconds: float) -> None:
        sys.stderr.write(
            f"error: process {self.rank} has made no progress for {seconds:g} seconds, in {self.doing}; "
            "it ends, and the same command continues from the last checkpoint. Its threads were here:\n"
        )
        faulthandler.dump_traceback(file=sys.__stderr__ or 2, all_threads=True)
        os._exit(STUCK)

    def __enter__(self) -> Watchdog:
        if self.seconds is not None:
            threading.Thread(target=self._watch, args=(self.seconds,), daemon=True, name="watchdog").start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
