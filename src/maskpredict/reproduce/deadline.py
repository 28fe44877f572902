"""The end of a rented half hour."""

from __future__ import annotations

import time

LONGEST_MARGIN, MARGIN = 20.0, 0.05
"""Seconds, and share of the time, in which nothing new is begun: saving takes time too."""


class Deadline:
    """When a call is to end; None is never."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None
        if seconds is not None:
            self._end = time.monotonic() + seconds - min(LONGEST_MARGIN, MARGIN * seconds)

    @property
    def left(self) -> float | None:
        """Seconds left, at least a moment; None when there is no end."""
        return None if self._end is None else max(0.01, self._end - time.monotonic())

    @property
    def over(self) -> bool:
        """True when nothing new is to be begun."""
        return self._end is not None and time.monotonic() > self._end
