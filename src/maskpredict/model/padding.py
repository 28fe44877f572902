"""Padded widths, chosen so that a sentence's result does not depend on its batch."""

from __future__ import annotations

ROWS = 8
"""Matrix products round alike for every row once they have eight rows; with fewer, other kernels are chosen. Widths and
row counts are therefore multiples of eight, and a sentence comes out the same whatever batch it is in."""


def round_up(n: int, multiple: int = ROWS) -> int:
    """Return the next multiple, n itself included."""
    return -(-n // multiple) * multiple


def padded_width(length: int, *, slot: bool = False) -> int:
    """Return the positions that `batch.pad` gives a row of this length; with `slot`, one more stands in front."""
    return round_up(int(slot) + length)
