"""The weights in a model folder, read one by one when they are needed, so that no model is in memory twice.

In eight bits, a matrix is two tensors in the file: its numbers under its name, and its scales (see `model.int8`) under
the name with `.scales` behind it. Everything that is no matrix stays in float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from maskpredict.errors import UserError
from maskpredict.model.int8 import Int8Matrix

Precision = Literal["float32", "float16", "bfloat16", "int8"]
SCALES = ".scales"


def write_weights(weights: Mapping[str, Tensor], path: Path, precision: Precision) -> None:
    """Store weights as a safetensors file."""
    stored: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if precision != "int8":
            stored[name] = tensor.to(getattr(torch, precision)).contiguous()
        elif tensor.dim() == 2:
            matrix = int8_matrix(weights, name)
            stored[name], stored[name + SCALES] = matrix.numbers, matrix.scales
        else:
            stored[name] = tensor.float().contiguous()
    path.touch()
    mode = path.stat().st_mode
    save_file(stored, path)
    path.chmod(mode)  # safetensors makes files that only their owner may read


def int8_matrix(weights: Mapping[str, Tensor], name: str) -> Int8Matrix:
    """A matrix in eight bits: as it is stored, or rounded."""
    if isinstance(weights, StoredWeights) and (stored := weights.int8(name)) is not None:
        return stored
    return Int8Matrix.of(weights[name])


class StoredWeights(Mapping[str, Tensor]):
    """Weights by name in float32, whatever they are stored in."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = safe_open(path, framework="pt")
        except FileNotFoundError as error:
            raise UserError(f"{path} is missing; the model folder is incomplete.") from error
        except (SafetensorError, OSError) as error:
            raise UserError(f"{path} is damaged ({error}); copy the model folder again.") from error
        names = set(self._file.keys())
        self._scaled = {name for name in names if name + SCALES in names}
        self._names = sorted(names - {name + SCALES for name in self._scaled})

    def __getitem__(self, name: str) -> Tensor:
        if (matrix := self.int8(name)) is not None:
            return matrix.restored()
        if name not in self:
            raise KeyError(name)
        # A copy: a tensor that lies in the file would change with it.
        tensor: Tensor = self._file.get_tensor(name).to(torch.float32, copy=True)
        return tensor

    def int8(self, name: str) -> Int8Matrix | None:
        """A matrix as it is stored, if that is in eight bits."""
        if name not in self._scaled:
            return None
        return Int8Matrix(self._file.get_tensor(name).clone(), self._file.get_tensor(name + SCALES).clone())

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names
