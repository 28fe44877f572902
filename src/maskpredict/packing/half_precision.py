"""Streaming conversion of a safetensors file to 16-bit floating point, without loading whole tensors.

Weights become float16. The optimizer's moments become bfloat16, since squared gradients underflow in float16 and zeros
would make the next update diverge. Everything else, such as step counts and the loss scale, stays exact.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from maskpredict.errors import UserError

OPTIMIZER_FILE = "optimizer.safetensors"
"""File of a checkpoint with the optimizer's moments; all other files hold weights."""
_CHECKSUM_KEY = "weights_checksum"
_MOMENTS = ("exp_avg.", "exp_avg_sq.")
_WIDE: dict[str, np.dtype[Any]] = {"F64": np.dtype("<f8"), "F32": np.dtype("<f4")}
_SIZES = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4}
"""Bytes per item of the types that need alignment."""
_ITEMS = 1 << 18
"""Numbers converted at once."""


@dataclass(frozen=True)
class _Tensor:
    name: str
    shape: list[int]
    dtype: str
    first: int
    """Offset of its first byte in the file."""
    size: int
    becomes: str
    """Type in the converted file."""

    @property
    def new_size(self) -> int:
        return self.size if self.becomes == self.dtype else self.size // _WIDE[self.dtype].itemsize * 2


def to_half_precision(path: Path) -> Iterator[bytes]:
    """Content of the converted file, in blocks."""
    with path.open("rb") as file:
        tensors, metadata = _read_header(file, path)
        yield _header(tensors, metadata)
        for tensor in tensors:
            file.seek(tensor.first)
            yield from _content(file, tensor, path)


def without_checksum(path: Path) -> Iterator[bytes]:
    """A model folder's config.json, or a checksums.json, without checksums of weights, which are others in 16 bits."""
    content = path.read_bytes()
    try:
        description = dict(json.loads(content))
    except (ValueError, TypeError):  # not ours
        yield content
        return
    kept = {key: value for key, value in description.items() if not _is_of_weights(key)}
    unchanged = len(kept) == len(description)
    yield content if unchanged else (json.dumps(kept, indent=2, ensure_ascii=False) + "\n").encode()


def _is_of_weights(key: str) -> bool:
    return key == _CHECKSUM_KEY or key.endswith(".safetensors")


def _read_header(file: BinaryIO, path: Path) -> tuple[list[_Tensor], dict[str, str] | None]:
    try:
        length = int.from_bytes(file.read(8), "little")
        header: dict[str, Any] = json.loads(file.read(length))
        metadata = header.pop("__metadata__", None)
        tensors = []
        for name, entry in header.items():
            first, end = entry["data_offsets"]
            becomes = _new_type(path.name, name, entry["dtype"])
            tensors.append(_Tensor(name, entry["shape"], entry["dtype"], 8 + length + first, end - first, becomes))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, MemoryError) as error:
        raise UserError(f"{path} is not a valid safetensors file; it cannot be packed in another precision.") from error
    # Wide types come first, so that every tensor is aligned to its item size.
    return sorted(tensors, key=lambda tensor: (-_SIZES.get(tensor.becomes, 2), tensor.first)), metadata


def _new_type(file: str, tensor: str, dtype: str) -> str:
    if dtype not in _WIDE:
        return dtype
    if file == OPTIMIZER_FILE:
        return "BF16" if tensor.startswith(_MOMENTS) else dtype
    return "F16"


def _header(tensors: list[_Tensor], metadata: dict[str, str] | None) -> bytes:
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    end = 0
    for tensor in tensors:
        begin, end = end, end + tensor.new_size
        header[tensor.name] = {"dtype": tensor.becomes, "shape": tensor.shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _content(file: BinaryIO, tensor: _Tensor, path: Path) -> Iterator[bytes]:
    step = _ITEMS * _SIZES.get(tensor.dtype, 1)
    for done in range(0, tensor.size, step):
        wanted = min(step, tensor.size - done)
        block = file.read(wanted)
        if len(block) < wanted:
            raise UserError(f"{path} is damaged: {tensor.name} is truncated; it cannot be packed.")
        if tensor.becomes == tensor.dtype:
            yield block
            continue
        numbers = np.frombuffer(block, _WIDE[tensor.dtype])
        if tensor.becomes == "BF16":
            yield _bfloat16(numbers.astype("<f4")).tobytes()
        else:
            yield _float16(numbers, tensor.name, path).tobytes()


def _float16(numbers: npt.NDArray[Any], name: str, path: Path) -> npt.NDArray[np.float16]:
    with np.errstate(over="ignore"):
        half = numbers.astype("<f2")
    if np.isinf(half).sum() > np.isinf(numbers).sum():
        raise UserError(f"{name} in {path} has values that float16 cannot hold; pack it in float32.")
    return half


def _bfloat16(numbers: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """Bits of the numbers as bfloat16, rounded to nearest even; NumPy has no such type."""
    bits = numbers.view("<u4")
    rounded = bits + (((bits >> 16) & 1) + 0x7FFF).astype("<u4")
    upper = (np.where(np.isfinite(numbers), rounded, bits) >> 16).astype("<u2")
    return np.where(np.isnan(numbers), np.uint16(0x7FC0), upper).astype("<u2")
