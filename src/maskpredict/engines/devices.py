"""Devices by name: cpu, cuda, or another that PyTorch knows. Without an NVIDIA driver, PyTorch is not imported."""

from __future__ import annotations

import ctypes
import sys
from importlib.util import find_spec

from maskpredict.errors import UserError


def has_pytorch() -> bool:
    """Return True if PyTorch is installed."""
    return find_spec("torch") is not None


def find_device(name: str) -> str:
    """Return the name of a device that works; "auto" is a GPU if there is one."""
    if name == "cpu":
        return "cpu"
    if name == "auto":
        return "cuda" if _has_gpu() else "cpu"
    if not has_pytorch():
        raise UserError(f"the device {name!r} needs PyTorch: pip install 'maskpredict[train]'; or choose cpu.")
    import torch

    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        usable = "auto, cpu or cuda" if torch.cuda.is_available() else "auto or cpu"
        raise UserError(f"the device {name!r} cannot be used here; choose {usable}.") from error
    return str(device)


def _has_gpu() -> bool:
    # PyTorch takes seconds to import, so look for the driver first.
    if not has_pytorch() or not _has_nvidia_driver():
        return False
    import torch

    return torch.cuda.is_available()


def _has_nvidia_driver() -> bool:
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True
