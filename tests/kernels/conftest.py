"""Triton kernels run on a GPU, or interpreted on a CPU where Triton is installed and TRITON_INTERPRET=1 is set.

Elsewhere these tests are skipped, and what is left are those of the plain functions that the kernels must agree with.
"""

from __future__ import annotations

import importlib.util
import os

import pytest
import torch

from maskpredict.decoding.fixed_drafts import DraftOps
from maskpredict.model.fused_ops import Ops


@pytest.fixture(scope="session")
def kernel_device() -> torch.device:
    """Where kernels can run."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip("needs Triton")
    if os.environ.get("TRITON_INTERPRET") == "1":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU, or TRITON_INTERPRET=1")
    return torch.device("cuda")


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
