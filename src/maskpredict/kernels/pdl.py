"""Starting a GPU kernel before the one in front of it has ended, so that launching takes no time (Triton).

NVIDIA calls it programmatic dependent launch. A kernel may read weights at once, since nobody writes them, and has to
wait before it reads or writes anything else. Every program of every kernel waits before it lets the next kernel start:
so whoever has waited for the kernel in front of it has waited for all kernels before that one, too.
"""

from __future__ import annotations

import os
from functools import cache

import torch
import triton
import triton.language as tl
from torch import Tensor

WANTED = True
"""Whether it is done where it can be; `benchmarks/gpu_kernels.py` compares."""
FIRST_CAPABILITY = 9
"""Of the GPUs that can: Hopper's."""


@triton.jit
def wait_for_the_kernel_before(AHEAD: tl.constexpr):  # type: ignore[no-untyped-def]
    """What earlier kernels wrote may be read from here on, and what they read may be written."""
    if AHEAD:
        tl.extra.cuda.gdc_wait()


@triton.jit
def let_the_next_kernel_start(AHEAD: tl.constexpr):  # type: ignore[no-untyped-def]
    """Only after the wait. The next kernel itself waits for all that this one does, so the sooner the better."""
    if AHEAD:
        tl.extra.cuda.gdc_launch_dependents()


def launch_options(x: Tensor) -> dict[str, bool]:
    """Arguments of a launch on the GPU of a tensor, for a kernel that has `AHEAD` and waits if it is true."""
    return {"AHEAD": True, "launch_pdl": True} if WANTED and _possible(x.device) else {"AHEAD": False}


@cache
def _possible(device: torch.device) -> bool:
    """Triton for other GPUs, old Triton and its interpreter do not know the option."""
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if device.type != "cuda" or torch.version.hip is not None or interpreted:
        return False
    known = hasattr(tl.extra.cuda, "gdc_wait") and hasattr(tl.extra.cuda, "gdc_launch_dependents")
    return known and torch.cuda.get_device_capability(device)[0] >= FIRST_CAPABILITY
