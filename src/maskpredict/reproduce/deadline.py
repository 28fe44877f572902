"""Soft deadline for `--seconds`."""

from __future__ import annotations

import time

LONGEST_MARGIN, MARGIN = 20.0, 0.05
"""Time reserved for saving: this fraction of the limit, at most this many seconds."""


class Deadline:
    """Time limit of a call; None is no limit."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None
        if seconds is not None:
            self._end = time.monotonic() + seconds - min(LONGEST_MARGIN, MARGIN * seconds)

    @property
    def left(self) -> float | None:
        """Seconds left, always positive; None without a limit."""
        return None if self._end is None else max(0.01, self._end - time.monotonic())

    @property
    def over(self) -> bool:
        """True when no new work should start."""
        return self._end is not None and time.monotonic() > self._end
