"""onnxruntime on CPUs: for systems that decode in passes, in int8 or float32. Needs no PyTorch."""

from __future__ import annotations

from importlib.util import find_spec

from maskpredict.decoding.engine import Engine
from maskpredict.model.folder import ModelFolder

SYSTEMS = ("cmlm", "refinement", "alignment", "ctc", "fairseq_cmlm", "fairseq_cmlm_relative")
"""Systems whose models this engine runs."""


def refusal(contents: ModelFolder, device: str, compute_type: str) -> str | None:
    """As in `EngineModule`."""
    if contents.system not in SYSTEMS:
        return f"the engine onnxruntime does not run models of the system {contents.system}; choose engine auto."
    if device != "cpu":
        return f"the engine onnxruntime computes on a CPU, not on {device}; choose device cpu."
    if compute_type not in ("int8", "float32"):
        return f"the engine onnxruntime computes in int8 or float32, not in {compute_type}; choose one of these."
    if any(find_spec(name) is None for name in ("onnxruntime", "onnx")):
        return "the engine onnxruntime is not installed: pip install onnxruntime onnx."
    return None


def load(contents: ModelFolder, device: str, compute_type: str, threads: int | None) -> Engine:
    """As in `EngineModule`."""
    from maskpredict.engines import default_threads
    from maskpredict.engines.onnxruntime.engine import OnnxruntimeEngine

    return OnnxruntimeEngine(contents, compute_type, threads or default_threads())
