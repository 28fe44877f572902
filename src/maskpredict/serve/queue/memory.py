"""Memory that stays flat.

Batches come in ever new shapes, and glibc keeps the holes that their buffers leave: without this a server grows by
hundreds of megabytes within minutes. (To have every large buffer mapped anew would cost half the speed.)
"""

from __future__ import annotations

import ctypes
import time

EVERY_SECONDS = 2.0


class Trimmer:
    """Gives unused memory back to the system, now and then."""

    def __init__(self) -> None:
        # Other C libraries than glibc have no such function, and need none.
        self._trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        self._last = time.monotonic()

    def maybe_trim(self) -> None:
        """Do it if the last time was long enough ago."""
        if self._trim is not None and time.monotonic() - self._last > EVERY_SECONDS:
            self._trim(0)
            self._last = time.monotonic()
