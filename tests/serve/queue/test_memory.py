"""Freed memory is returned to the operating system."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from maskpredict.serve.queue import memory


def resident_megabytes() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def test_freed_memory_between_used_blocks_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "TRIM_INTERVAL_SECONDS", 0.0)
    trimmer = memory.MemoryTrimmer()
    blocks = [b"x" * 100_000 for _ in range(2_000)]
    kept = blocks[::10]
    del blocks
    before = resident_megabytes()
    trimmer.trim_if_due()
    assert resident_megabytes() < before - 100
    assert len(kept) == 200


def test_memory_is_not_trimmed_before_the_interval_is_over() -> None:
    trimmer = memory.MemoryTrimmer()
    blocks = [b"x" * 100_000 for _ in range(2_000)]
    kept = blocks[::10]
    del blocks
    before = resident_megabytes()
    trimmer.trim_if_due()
    assert resident_megabytes() > before - 50
    assert len(kept) == 200
