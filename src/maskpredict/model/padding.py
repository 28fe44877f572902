"""Padded widths, chosen so that a sentence's result does not depend on its batch."""

from __future__ import annotations

ROWS = 8
"""Matrix products with eight or more rows round every row in the same way; with fewer, other kernels run. So widths and
row counts are multiples of eight, and a sentence's result does not depend on its batch."""


def round_up(n: int, multiple: int = ROWS) -> int:
    """Return the smallest multiple that is at least n."""
    return -(-n // multiple) * multiple


def padded_width(length: int, *, slot: bool = False) -> int:
    """Return the width to which `batch.pad` pads a row of this length, plus one for a `slot`."""
    return round_up(int(slot) + length)
