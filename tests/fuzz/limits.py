"""What one input may take while readers are fuzzed."""

from __future__ import annotations

import os
import resource
from pathlib import Path

HANG_SECONDS = 60
"""Time on a busy machine; computing time is limited besides."""
MEMORY_MB = 2_000
"""Memory that the process may take beyond what it starts with."""
MAX_BYTES = 65_536
"""Longest input; a small Word file has 36,000."""


def limit_memory() -> None:
    """Let allocations fail that would take much more than the process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY_MB * 1_000_000
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
