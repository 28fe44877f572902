"""Returns freed memory to the operating system."""

from __future__ import annotations

import ctypes

# Other C libraries than glibc do not have this function and do not need it.
_malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)


def trim_memory() -> None:
    """Hand back what glibc keeps of freed buffers."""
    if _malloc_trim is not None:
        _malloc_trim(0)
