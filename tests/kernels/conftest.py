"""Triton kernels run on a GPU where there is one, and elsewhere in Triton's interpreter, on the CPU.

Without Triton, which is for Linux alone, these tests are skipped, except in CI; what is left are those of the plain
functions that the kernels must agree with.
"""

from __future__ import annotations

import importlib.util
import os

import pytest
import torch

from maskpredict.engines.cuda.draft_step_reference import DraftOps
from maskpredict.kernels.reference import Ops


@pytest.fixture(scope="session")
def triton() -> None:
    """Triton is installed."""
    if importlib.util.find_spec("triton") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("needs Triton: pip install triton")


@pytest.fixture(scope="session")
def kernel_device(triton: None) -> torch.device:
    """Where kernels can run."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture(scope="session")
def gpu_ops(kernel_device: torch.device) -> Ops:
    """The kernels of `FusedTransformer`."""
    from maskpredict.kernels import fused as fused_ops

    return fused_ops


@pytest.fixture(scope="session")
def gpu_draft_ops(kernel_device: torch.device) -> DraftOps:
    """The kernels between two passes."""
    from maskpredict.kernels import draft_step

    return draft_step
