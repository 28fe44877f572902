"""In which numbers to compute: what was asked for, or the fastest that is exact enough."""

from __future__ import annotations

import torch

from maskpredict.errors import UserError
from maskpredict.model import int8
from maskpredict.model.config import ModelConfig

COMPUTE_TYPES = ("auto", "float32", "bfloat16", "float16", "int8")

SMALLEST_FOR_INT8 = 256
"""Width from which eight bits are faster than float32 on a CPU; below, rounding costs more than it saves."""


def find_compute_type(asked: str, device: torch.device, config: ModelConfig) -> str:
    """The compute type to use; `auto` is int8 on a CPU that is fast at it, half precision on a GPU, else float32."""
    if asked not in COMPUTE_TYPES:
        raise UserError(f"compute_type is {asked!r}; choose one of {', '.join(COMPUTE_TYPES)}.")
    if asked == "auto":
        return _fastest(device, config)
    if asked == "int8" and device.type != "cpu":
        raise UserError("int8 is for translating on a CPU; choose float16 or bfloat16 on a GPU.")
    if asked == "int8" and not int8.is_available():
        raise UserError("this computer cannot multiply in int8 (it takes an x86 CPU with AVX2); choose float32.")
    return asked


def _fastest(device: torch.device, config: ModelConfig) -> str:
    if device.type == "cuda":
        return "float16"
    large = min(config.width, config.hidden) >= SMALLEST_FOR_INT8
    return "int8" if device.type == "cpu" and large and int8.is_available() else "float32"
