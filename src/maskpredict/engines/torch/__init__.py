"""PyTorch on any device, in float32 or half precision: runs every system."""

from __future__ import annotations

from maskpredict.decoding.engine import Engine
from maskpredict.engines.devices import has_pytorch
from maskpredict.model.folder import ModelFolder


def refusal(contents: ModelFolder, device: str, compute_type: str) -> str | None:
    """As in `EngineModule`."""
    if not has_pytorch():
        return (
            f"to run models of the system {contents.system}, the engine torch needs PyTorch: "
            "pip install 'maskpredict[train]'."
        )
    if compute_type == "int8":
        return "the engine torch does not compute in int8; choose float16 or bfloat16 on a GPU, else float32."
    return None


def load(contents: ModelFolder, device: str, compute_type: str, threads: int | None) -> Engine:
    """As in `EngineModule`. PyTorch's threads are set for the whole process."""
    from maskpredict.engines.torch.engine import TorchEngine
    from maskpredict.engines.torch.loading import load_system, set_threads

    set_threads(threads, device)
    return TorchEngine(load_system(contents), device, compute_type)
