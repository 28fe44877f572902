"""Programmatic dependent launch: a GPU starts a kernel before the previous one has ended (Triton).

A kernel may read weights at once, because no kernel writes them. It must wait before it reads or writes anything else.
Every program waits before it allows the next kernel, so waiting for the previous kernel implies all earlier ones.
"""

from __future__ import annotations

import os
from functools import cache

import torch
import triton
import triton.language as tl
from torch import Tensor

ENABLED = True
"""False turns it off on all GPUs; `benchmarks/gpu_kernels.py` compares."""
MIN_COMPUTE_CAPABILITY = 9
"""Major compute capability of Hopper, the first GPUs that support it."""


@triton.jit
def wait_for_previous_kernel(PDL: tl.constexpr):  # type: ignore[no-untyped-def]
    """Wait until the previous kernel's writes are visible and its reads are done."""
    if PDL:
        tl.extra.cuda.gdc_wait()


@triton.jit
def allow_next_kernel(PDL: tl.constexpr):  # type: ignore[no-untyped-def]
    """Let the next kernel start, as early as possible but after the wait; it waits for this kernel's results itself."""
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()


def launch_options(x: Tensor) -> dict[str, bool]:
    """Return launch arguments for a kernel with a `PDL` parameter, on the tensor's device."""
    return {"PDL": True, "launch_pdl": True} if ENABLED and _is_supported(x.device) else {"PDL": False}


@cache
def _is_supported(device: torch.device) -> bool:
    """Return False for other GPUs, old Triton versions and Triton's interpreter."""
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if device.type != "cuda" or torch.version.hip is not None or interpreted:
        return False
    known = hasattr(tl.extra.cuda, "gdc_wait") and hasattr(tl.extra.cuda, "gdc_launch_dependents")
    return known and torch.cuda.get_device_capability(device)[0] >= MIN_COMPUTE_CAPABILITY
