"""Measured speed of a model, to foretell how long work will take."""

from __future__ import annotations

_MEMORY = 0.9
"""Weight of all earlier batches after one more."""


class Speed:
    """Seconds for each position, averaged over recent batches."""

    def __init__(self) -> None:
        self._seconds, self._positions = 0.0, 0.0

    def observe(self, positions: int, seconds: float) -> None:
        """Take a batch into the average; large batches weigh more."""
        self._seconds = _MEMORY * self._seconds + seconds
        self._positions = _MEMORY * self._positions + positions

    def seconds(self, positions: int) -> float:
        """Return how long so many positions will probably take; 0 if nothing was measured."""
        return positions * self._seconds / self._positions if self._positions else 0.0
