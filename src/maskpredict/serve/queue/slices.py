"""Work that is computed in slices: it runs in a thread of its own, but only while another thread waits for it."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class DaemonThreads:
    """Threads that are reused, and that the end of the process does not wait for."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Callable[[], None]]] = []

    def run(self, function: Callable[[], None]) -> None:
        """Call the function in an idle thread, or in a new one."""
        if not self._idle:
            jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
            Thread(target=self._work, args=(jobs,), name="translator", daemon=True).start()
        else:
            jobs = self._idle.pop()
        jobs.put(function)

    def _work(self, jobs: SimpleQueue[Callable[[], None]]) -> None:
        while True:
            jobs.get()()
            self._idle.append(jobs)


class SlicedWork(Generic[T]):
    """A function that can pause. `resume` runs it until it pauses or ends."""

    def __init__(self, function: Callable[[Callable[[], None]], T], threads: DaemonThreads) -> None:
        """`function` is called with a function that pauses it, and must not raise."""
        self._function, self._threads = function, threads
        self._may_run, self._stopped = Semaphore(0), Semaphore(0)
        self._has_started = False
        self.result: T | None = None
        """The function's result; None until it has returned."""

    def resume(self) -> None:
        """Run the function until it pauses or ends."""
        if self._has_started:
            self._may_run.release()
        else:
            self._has_started = True
            self._threads.run(self._run)
        self._stopped.acquire()

    def _run(self) -> None:
        try:
            self.result = self._function(self._pause)
        finally:
            self._stopped.release()

    def _pause(self) -> None:
        self._stopped.release()
        self._may_run.acquire()
