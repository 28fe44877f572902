"""The weights file of a model folder, read tensor by tensor to avoid a second copy in memory.

In int8, a matrix is two tensors in the file: its numbers under its name, and its scales (`int8_matrix.py`) under the
name followed by `.scales`. Everything that is not a matrix stays in float32. Nothing here needs PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError

from maskpredict.errors import UserError
from maskpredict.model.int8_matrix import Int8Matrix
from maskpredict.model.safetensors_file import Precision, SafetensorsFile, write_safetensors

Array = npt.NDArray[np.float32]
Weights = Mapping[str, Array]
"""Weights by parameter name, in float32."""
SCALES = ".scales"


def write_weights(weights: Mapping[str, npt.NDArray[Any]], path: Path, precision: Precision) -> None:
    """Store weights as a safetensors file."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    precisions: dict[str, Precision] = {}
    for name, weight in weights.items():
        if precision == "int8" and np.ndim(weight) == 2:
            matrix = int8_matrix(weights, name)
            arrays |= {name: matrix.numbers, name + SCALES: matrix.scales}
            precisions |= {name: "int8", name + SCALES: "float32"}
        else:
            arrays[name], precisions[name] = np.asarray(weight), "float32" if precision == "int8" else precision
    write_safetensors(arrays, precisions, path)


def int8_matrix(weights: Mapping[str, npt.NDArray[Any]], name: str) -> Int8Matrix:
    """Return a matrix in int8: as stored, or quantized now."""
    stored = stored_int8(weights, name)
    return Int8Matrix.of(weights[name]) if stored is None else stored


def stored_int8(weights: Mapping[str, npt.NDArray[Any]], name: str) -> Int8Matrix | None:
    """Return a matrix that is stored in int8, else None."""
    return weights.int8(name) if isinstance(weights, StoredWeights) else None


class StoredWeights(Weights):
    """Weights by name in float32, whatever precision they are stored in."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = SafetensorsFile(path)
        except FileNotFoundError as error:
            raise UserError(f"{path} is missing; the model folder is incomplete.") from error
        except (SafetensorError, OSError) as error:
            raise UserError(f"{path} is damaged ({error}); copy the model folder again.") from error
        entries = self._file.entries
        self._scaled = {name for name, entry in entries.items() if entry.dtype == "I8"}
        for name in self._scaled:
            shape, scales = entries[name].shape, entries.get(name + SCALES)
            if len(shape) != 2 or scales is None or scales.shape != shape[:1] or scales.dtype == "I8":
                raise UserError(
                    f"{path} is damaged: {name} in int8 lacks one scale for each row; copy the model again."
                )
        self._names = sorted(entries.keys() - {name + SCALES for name in self._scaled})

    def __getitem__(self, name: str) -> Array:
        if (matrix := self.int8(name)) is not None:
            return matrix.restored()
        if name not in self:
            raise KeyError(name)
        return self._file.read(name)

    def int8(self, name: str) -> Int8Matrix | None:
        """Return a matrix that is stored in int8, else None."""
        if name not in self._scaled:
            return None
        return Int8Matrix(self._file.read(name), self._file.read(name + SCALES))

    def check_numbers(self) -> None:
        """Refuse NaN and infinity, with which every translation would be nonsense."""
        for name, entry in self._file.entries.items():
            if entry.dtype != "I8" and not np.isfinite(self._file.read(name)).all():
                raise UserError(f"{self._file.path} has numbers in {name} that are not finite; the model is of no use.")

    def shape(self, name: str) -> tuple[int, ...]:
        """Return a weight's shape without reading it."""
        return self._file.entries[name].shape

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


def parameter_count(weights: Mapping[str, npt.NDArray[Any]]) -> int:
    """Return the number of parameters, without reading stored weights."""
    if isinstance(weights, StoredWeights):
        return sum(int(np.prod(weights.shape(name))) for name in weights)
    return sum(int(np.asarray(weight).size) for weight in weights.values())
