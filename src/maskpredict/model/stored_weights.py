"""The weights file of a model folder, read tensor by tensor to avoid a second copy in memory.

In int8, a matrix is two tensors in the file: its numbers under its name, and its scales (`int8_matrix.py`) under the
name followed by `.scales`. Everything that is not a matrix stays in float32. Nothing here needs PyTorch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from maskpredict.errors import UserError
from maskpredict.model.int8_matrix import Int8Matrix

Precision = Literal["float32", "float16", "bfloat16", "int8"]
Array = npt.NDArray[np.float32]
Weights = Mapping[str, Array]
"""Weights by parameter name, in float32."""
SCALES = ".scales"
_BYTES = {"F32": 4, "F16": 2, "BF16": 2, "I8": 1}
_DTYPES: dict[Precision, str] = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "int8": "I8"}


def write_weights(weights: Mapping[str, npt.NDArray[Any]], path: Path, precision: Precision) -> None:
    """Store weights as a safetensors file."""
    stored: dict[str, _StoredTensor] = {}
    for name, weight in weights.items():
        array = np.asarray(weight)
        if precision == "int8" and array.ndim == 2:
            matrix = int8_matrix(weights, name)
            stored[name], stored[name + SCALES] = _tensor(matrix.numbers, "int8"), _tensor(matrix.scales, "float32")
        else:
            stored[name] = _tensor(array, "float32" if precision == "int8" else precision)
    _write_safetensors(stored, path)


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
            self._file = safe_open(path, framework="np")
        except FileNotFoundError as error:
            raise UserError(f"{path} is missing; the model folder is incomplete.") from error
        except (SafetensorError, OSError) as error:
            raise UserError(f"{path} is damaged ({error}); copy the model folder again.") from error
        self._path = path
        names = set(self._file.keys())
        self._scaled = {name for name in names if name + SCALES in names}
        self._names = sorted(names - {name + SCALES for name in self._scaled})

    def __getitem__(self, name: str) -> Array:
        if (matrix := self.int8(name)) is not None:
            return matrix.restored()
        if name not in self:
            raise KeyError(name)
        if self._file.get_slice(name).get_dtype() == "BF16":
            return _read_bfloat16(self._path, name)
        # Copy it: a memory-mapped array would change with the file.
        return np.array(self._file.get_tensor(name), dtype=np.float32)

    def int8(self, name: str) -> Int8Matrix | None:
        """Return a matrix that is stored in int8, else None."""
        if name not in self._scaled:
            return None
        return Int8Matrix(np.array(self._file.get_tensor(name)), np.array(self._file.get_tensor(name + SCALES)))

    def shape(self, name: str) -> tuple[int, ...]:
        """Return a weight's shape without reading it."""
        return tuple(self._file.get_slice(name).get_shape())

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


@dataclass(frozen=True)
class _StoredTensor:
    """A tensor in a safetensors file."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


def _tensor(array: npt.NDArray[Any], precision: Precision) -> _StoredTensor:
    numbers = _to_bfloat16(array) if precision == "bfloat16" else array.astype(precision)
    return _StoredTensor(_DTYPES[precision], array.shape, np.ascontiguousarray(numbers).tobytes())


def _write_safetensors(tensors: Mapping[str, _StoredTensor], path: Path) -> None:
    """Write the format without the library, which cannot take bfloat16 from NumPy."""
    header: dict[str, Any] = {}
    end = 0
    # Larger data types first, as the library does, so that all are aligned.
    names = sorted(tensors, key=lambda name: (-_BYTES[tensors[name].dtype], name))
    for name in names:
        tensor = tensors[name]
        start, end = end, end + len(tensor.data)
        header[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in names:
            file.write(tensors[name].data)


def _to_bfloat16(array: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
    """Round float32 to the upper 16 of its bits, ties to even; NumPy has no such type."""
    bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
    rounded: npt.NDArray[np.uint16] = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return rounded


def _read_bfloat16(path: Path, name: str) -> Array:
    """Read a bfloat16 tensor by its offsets in the file's header, because safetensors cannot convert it to NumPy."""
    with path.open("rb") as file:
        header_size = int.from_bytes(file.read(8), "little")
        entry = json.loads(file.read(header_size))[name]
        start, end = entry["data_offsets"]
        file.seek(8 + header_size + start)
        upper = np.frombuffer(file.read(end - start), dtype="<u2").astype(np.uint32)
    return (upper << 16).view(np.float32).reshape(entry["shape"])
