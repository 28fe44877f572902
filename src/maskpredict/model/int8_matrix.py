"""Weight matrices quantized to int8, one scale per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

MAX_INT8 = 127
"""Largest magnitude of a quantized weight."""


@dataclass(frozen=True)
class Int8Matrix:
    """A quantized matrix: `numbers` times `scales`, row by row."""

    numbers: npt.NDArray[np.int8]
    """[O, I]."""
    scales: npt.NDArray[np.float32]
    """[O]."""

    @classmethod
    def of(cls, weight: npt.NDArray[Any]) -> Int8Matrix:
        """Quantize a matrix symmetrically, each row to its own maximum."""
        weight = np.asarray(weight, dtype=np.float32)
        # A row of zeros may have any scale but zero.
        largest = np.maximum(np.abs(weight).max(axis=1), np.finfo(np.float32).tiny)
        scales = (largest / np.float32(MAX_INT8)).astype(np.float32)
        return cls(np.rint(weight / scales[:, None]).astype(np.int8), scales)

    def in_seven_bits(self) -> Int8Matrix:
        """Return a coarser copy with numbers from -64 to 64, whose dot products cannot saturate."""
        return Int8Matrix(np.rint(self.numbers / 2).astype(np.int8), 2 * self.scales)

    def restored(self) -> npt.NDArray[np.float32]:
        """Return the matrix in float32."""
        return self.numbers.astype(np.float32) * self.scales[:, None]
