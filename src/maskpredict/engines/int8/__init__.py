"""PyTorch's int8 kernels on x86 CPUs: for most systems, and for autoregressive ones by default."""

from __future__ import annotations

from maskpredict.cpu import has_avx2
from maskpredict.decoding.engine import Engine
from maskpredict.engines.devices import has_pytorch
from maskpredict.model.folder import ModelFolder

NOT_RUN = ("fertility", "insertion")
"""Systems whose decoders have parts that this engine does not compute in int8."""


def refusal(contents: ModelFolder, device: str, compute_type: str) -> str | None:
    """As in `EngineModule`."""
    if contents.system in NOT_RUN:
        return f"models of the system {contents.system} are not computed in int8; choose compute_type float32."
    if compute_type != "int8":
        return f"the engine int8 computes in int8, not in {compute_type}; choose compute_type int8."
    if device != "cpu":
        return "int8 is for translating on a CPU; choose float16 or bfloat16 on a GPU."
    if not has_avx2():
        return "this computer cannot multiply in int8 with PyTorch (it takes an x86 CPU with AVX2); choose float32."
    if not has_pytorch():
        return "the engine int8 needs PyTorch: pip install 'maskpredict[train]'."
    return None


def load(contents: ModelFolder, device: str, compute_type: str, threads: int | None) -> Engine:
    """As in `EngineModule`. PyTorch's threads are set for the whole process."""
    from maskpredict.engines.int8.engine import Int8Engine, load_int8_system
    from maskpredict.engines.torch.loading import set_threads

    set_threads(threads, device)
    return Int8Engine(load_int8_system(contents))
