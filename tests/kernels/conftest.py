"""Triton kernels run on a GPU where there is one, and elsewhere in Triton's interpreter, on the CPU.

Without Triton, which is for Linux alone, these tests are skipped, and what is left are those of the plain functions
that the kernels must agree with.
"""

from __future__ import annotations

import importlib.util
import os

import pytest
import torch

from maskpredict.decoding.fixed_drafts import DraftOps
from maskpredict.model.fused_ops import Ops

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before anybody imports Triton


@pytest.fixture(scope="session")
def kernel_device() -> torch.device:
    """Where kernels can run."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip("needs Triton")
    return torch.device("cpu" if os.environ.get("TRITON_INTERPRET") == "1" else "cuda")


@pytest.fixture(scope="session")
def gpu_ops(kernel_device: torch.device) -> Ops:
    """The kernels of `FusedTransformer`."""
    from maskpredict.model import fused_ops_gpu

    return fused_ops_gpu


@pytest.fixture(scope="session")
def gpu_draft_ops(kernel_device: torch.device) -> DraftOps:
    """The kernels between two passes."""
    from maskpredict.decoding import gpu_fixed_drafts

    return gpu_fixed_drafts
