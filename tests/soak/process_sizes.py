"""Memory, open handles and threads of a process over time, and whether they grow."""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from numpy.polynomial import Polynomial

_HOUR = 3_600.0


@dataclass(frozen=True)
class Sample:
    """The sizes of a process at a moment."""

    seconds: float
    resident_mb: float
    handles: int
    threads: int


@dataclass
class Sizes:
    """The sizes of a process, sampled at intervals."""

    samples: list[Sample] = field(default_factory=list)

    def summary(self) -> dict[str, object]:
        """Medians of the second and of the last quarter, and slopes an hour; the first quarter is the warm-up."""
        quarter = max(1, len(self.samples) // 4)
        late, second, last = self.samples[quarter:], self.samples[quarter : 2 * quarter], self.samples[-quarter:]
        figures: dict[str, object] = {"samples": len(self.samples)}
        for name in ("resident_mb", "handles", "threads"):
            before, after = (statistics.median(getattr(one, name) for one in part) for part in (second, last))
            figures[name] = {
                "second_quarter": round(before, 1),
                "last_quarter": round(after, 1),
                "growth": round(after / before, 3),
                "slope_an_hour": round(_slope([(one.seconds, getattr(one, name)) for one in late]), 2),
            }
        return figures


@contextmanager
def watched(process: int, every: float) -> Iterator[Sizes]:
    """Sample a process until the block ends."""
    sizes, ended, started = Sizes(), threading.Event(), time.monotonic()

    def watch() -> None:
        while not ended.wait(every):
            with suppress(OSError):  # it has ended
                now = sample(process, time.monotonic() - started)
                sizes.samples += [now] if now.resident_mb else []

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield sizes
    finally:
        ended.set()
        thread.join()


def sample(process: int, seconds: float = 0.0) -> Sample:
    """The sizes of a process now."""
    folder = Path(f"/proc/{process}")
    pages = int((folder / "statm").read_text().split()[1])
    resident = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    return Sample(seconds, resident, len(os.listdir(folder / "fd")), len(os.listdir(folder / "task")))


def _slope(points: list[tuple[float, float]]) -> float:
    """Growth an hour of the line that fits best."""
    if len(points) < 2:
        return 0.0
    times, values = zip(*points, strict=True)
    return float(Polynomial.fit(times, values, 1).convert().coef[-1]) * _HOUR if len(set(values)) > 1 else 0.0
