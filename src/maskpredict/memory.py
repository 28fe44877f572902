"""Control over glibc's memory: what it may keep of freed buffers."""

from __future__ import annotations

import ctypes

# Other C libraries than glibc do not have these functions and do not need them.
_library = ctypes.CDLL(None)
_malloc_trim = getattr(_library, "malloc_trim", None)
_mallopt = getattr(_library, "mallopt", None)
_ARENA_MAX = -8
"""Number of the option M_ARENA_MAX in malloc.h."""


def trim_memory() -> None:
    """Hand back what glibc keeps of freed buffers."""
    if _malloc_trim is not None:
        _malloc_trim(0)


def limit_arenas(count: int) -> None:
    """Let threads share so many pools of memory, each of which keeps gaps between buffers."""
    if _mallopt is not None:
        _mallopt(_ARENA_MAX, count)
