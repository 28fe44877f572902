"""safetensors files in NumPy, tensor by tensor, bfloat16 included, which NumPy does not have.

Tensors are read with plain reads, not mapped: the pages of a mapped file would count as memory of the process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from maskpredict.disk_errors import explain_disk_errors

Precision = Literal["float32", "float16", "bfloat16", "int8"]
_NAMES: dict[Precision, str] = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "int8": "I8"}
_TYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
    "I8": np.dtype("i1"),
}
_MAX_HEADER = 4_000_000
"""Bytes of names, types and places, which take about 100 for each tensor; a larger header would be slow to read."""


@dataclass(frozen=True)
class TensorEntry:
    """A tensor's type, shape and place in the file."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


class SafetensorsFile:
    """A file whose tensors are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        """Open a file; its header is checked by the library, and a SafetensorError raised if it is damaged."""
        self.path = path
        with explain_disk_errors(path, "read"), path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if size > _MAX_HEADER:
                raise SafetensorError(f"a header of {size} bytes")
            with safe_open(path, framework="np"):
                pass
            header: dict[str, Any] = json.loads(file.read(size))
        header.pop("__metadata__", None)
        self.entries = {
            name: TensorEntry(
                entry["dtype"], tuple(entry["shape"]), *(8 + size + place for place in entry["data_offsets"])
            )
            for name, entry in header.items()
        }
        for name, entry in self.entries.items():
            if entry.dtype not in _TYPES:
                raise SafetensorError(f"{name} is of the type {entry.dtype}, not one of {', '.join(_TYPES)}")

    def read(self, name: str) -> npt.NDArray[Any]:
        """Return a tensor as an array of its own: int8 as it is, everything else in float32."""
        entry = self.entries[name]
        with explain_disk_errors(self.path, "read"), self.path.open("rb") as file:
            file.seek(entry.start)
            numbers = np.frombuffer(file.read(entry.end - entry.start), dtype=_TYPES[entry.dtype])
        if entry.dtype == "BF16":
            numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
        kind = np.int8 if entry.dtype == "I8" else np.float32
        return numbers.astype(kind).reshape(entry.shape)


def write_safetensors(arrays: Mapping[str, npt.NDArray[Any]], precisions: Mapping[str, Precision], path: Path) -> None:
    """Write arrays, each in the precision that is named for it."""
    # Larger numbers first, as the library does, so that all are aligned.
    names = sorted(arrays, key=lambda name: (-_TYPES[_NAMES[precisions[name]]].itemsize, name))
    data = {name: _bytes(arrays[name], precisions[name]) for name in names}
    header: dict[str, Any] = {}
    end = 0
    for name in names:
        start, end = end, end + len(data[name])
        header[name] = {"dtype": _NAMES[precisions[name]], "shape": arrays[name].shape, "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.writelines(data.values())


def _bytes(array: npt.NDArray[Any], precision: Precision) -> bytes:
    if precision != "bfloat16":
        return array.astype(_TYPES[_NAMES[precision]]).tobytes()
    # The upper 16 bits of float32, rounded to the nearest, ties to even.
    bits = array.astype("<f4").view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()
