"""Keeps the memory of a server from growing.

Batches have many different shapes, and glibc keeps the memory of freed buffers: without trimming, a server grows by
hundreds of megabytes within minutes. (Mapping every large buffer anew would halve the speed.) Batches also run in
different threads, for each of which glibc would keep a pool of its own.
"""

from __future__ import annotations

import time

from maskpredict.memory import limit_arenas, trim_memory

TRIM_INTERVAL_SECONDS = 2.0
ARENAS = 2
"""Pools of memory, shared by all threads."""


class MemoryTrimmer:
    """Trims the memory at intervals; to be made before the threads that it is for."""

    def __init__(self) -> None:
        limit_arenas(ARENAS)
        self._last = time.monotonic()

    def trim_if_due(self) -> None:
        """Trim the memory if the last time was long enough ago."""
        if time.monotonic() - self._last > TRIM_INTERVAL_SECONDS:
            trim_memory()
            self._last = time.monotonic()
