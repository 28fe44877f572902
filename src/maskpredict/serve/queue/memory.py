"""Returns freed memory to the operating system.

Batches have many different shapes, and glibc keeps the memory of freed buffers: without trimming, a server grows by
hundreds of megabytes within minutes. (Mapping every large buffer anew would halve the speed.)
"""

from __future__ import annotations

import time

from maskpredict.memory import trim_memory

TRIM_INTERVAL_SECONDS = 2.0


class MemoryTrimmer:
    """Trims the memory at intervals."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def trim_if_due(self) -> None:
        """Trim the memory if the last time was long enough ago."""
        if time.monotonic() - self._last > TRIM_INTERVAL_SECONDS:
            trim_memory()
            self._last = time.monotonic()
