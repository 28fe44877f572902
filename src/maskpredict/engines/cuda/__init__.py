"""One NVIDIA GPU: whole translations captured as CUDA graphs over fused kernels. Runs every system."""

from __future__ import annotations

from maskpredict.decoding.engine import Engine
from maskpredict.engines.devices import has_pytorch
from maskpredict.model.folder import ModelFolder


def refusal(contents: ModelFolder, device: str, compute_type: str) -> str | None:
    """As in `EngineModule`."""
    if not device.startswith("cuda"):
        return f"the engine cuda computes on an NVIDIA GPU, not on {device}; choose device cuda."
    if not has_pytorch():
        return "the engine cuda needs PyTorch: pip install 'maskpredict[train]'."
    if compute_type == "int8":
        return "int8 is for translating on a CPU; choose float16 or bfloat16 on a GPU."
    return None


def load(contents: ModelFolder, device: str, compute_type: str, threads: int | None) -> Engine:
    """As in `EngineModule`."""
    from maskpredict.engines.cuda.engine import CudaEngine
    from maskpredict.engines.torch.loading import load_system, set_threads

    set_threads(threads, device)
    return CudaEngine(load_system(contents), device, compute_type)
