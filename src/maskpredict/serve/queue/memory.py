"""Returns freed memory to the operating system.

Batches have many different shapes, and glibc keeps the memory of freed buffers: without trimming, a server grows by
hundreds of megabytes within minutes. (Mapping every large buffer anew would halve the speed.)
"""

from __future__ import annotations

import ctypes
import time

TRIM_INTERVAL_SECONDS = 2.0


class MemoryTrimmer:
    """Calls glibc's `malloc_trim` at intervals."""

    def __init__(self) -> None:
        # Other C libraries do not have this function and do not need it.
        self._trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        self._last = time.monotonic()

    def trim_if_due(self) -> None:
        """Trim the memory if the last time was long enough ago."""
        if self._trim is not None and time.monotonic() - self._last > TRIM_INTERVAL_SECONDS:
            self._trim(0)
            self._last = time.monotonic()
