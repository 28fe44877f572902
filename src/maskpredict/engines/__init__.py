"""The engines that run models, and the only place that chooses one.

An engine is a module with two functions:

    refusal(contents, device, compute_type) -> None, or one sentence on why it cannot run this model this way
    load(contents, device, compute_type, threads) -> Engine

A new engine is such a module and a line in `ENGINES`. Importing this package imports none of them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from maskpredict.cpu import has_avx2, is_x86
from maskpredict.decoding.engine import Engine
from maskpredict.engines.devices import find_device
from maskpredict.errors import UserError
from maskpredict.model.config import ModelConfig
from maskpredict.model.folder import ModelFolder

ENGINES: dict[str, str] = {
    "onnxruntime": "maskpredict.engines.onnxruntime",
    "cuda": "maskpredict.engines.cuda",
    "int8": "maskpredict.engines.int8",
    "torch": "maskpredict.engines.torch",
}
"""Modules by name; the first that does not refuse a model runs it."""

COMPUTE_TYPES = ("auto", "float32", "bfloat16", "float16", "int8")

MIN_INT8_WIDTH = 256
"""Width from which int8 is faster than float32 on a CPU; below, quantizing the inputs costs more than it saves."""
MAX_THREADS = 4
"""Default limit of CPU threads: the matrices of a few sentences are too small for more."""


class EngineModule(Protocol):
    """Interface of a module in `ENGINES`."""

    def refusal(self, contents: ModelFolder, device: str, compute_type: str) -> str | None:
        """Return one sentence on why the engine cannot run this model on this device in this precision, or None."""

    def load(self, contents: ModelFolder, device: str, compute_type: str, threads: int | None) -> Engine:
        """Load the model; `threads` is None for the default number."""


@dataclass(frozen=True)
class Choice:
    """An engine and how it computes."""

    engine: str
    device: str
    compute_type: str


def load_engine(
    contents: ModelFolder,
    *,
    device: str = "auto",
    compute_type: str = "auto",
    engine: str = "auto",
    threads: int | None = None,
) -> Engine:
    """Load a model into the engine that suits it best, or the one of that name."""
    if threads is not None and threads < 1:
        raise UserError(f"intra_threads is {threads}; use 1 or more.")
    choice = choose(contents, device=device, compute_type=compute_type, engine=engine)
    return _module(choice.engine).load(contents, choice.device, choice.compute_type, threads)


def choose(contents: ModelFolder, *, device: str = "auto", compute_type: str = "auto", engine: str = "auto") -> Choice:
    """Return an engine, a device and a precision that run the model, or raise a `UserError` that says why not."""
    if compute_type not in COMPUTE_TYPES:
        raise UserError(f"compute_type is {compute_type!r}; choose one of {', '.join(COMPUTE_TYPES)}.")
    check_name(engine)
    usable_device = find_device(device)
    names = list(ENGINES) if engine == "auto" else [engine]
    refusals = []
    for kind in _compute_types(compute_type, usable_device, contents.config):
        for name in names:
            refusal = _module(name).refusal(contents, usable_device, kind)
            if refusal is None:
                return Choice(name, usable_device, kind)
            refusals.append(refusal)
    raise UserError(_most_helpful(refusals))


def check_name(engine: str) -> None:
    """Raise a `UserError` unless this is auto or the name of an engine."""
    if engine != "auto" and engine not in ENGINES:
        raise UserError(f"there is no engine {engine!r}; choose auto or one of {', '.join(ENGINES)}.")


def default_threads() -> int:
    """Return the default number of CPU threads."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MAX_THREADS, int(os.environ.get("OMP_NUM_THREADS") or allowed), allowed)


def _compute_types(asked: str, device: str, config: ModelConfig) -> list[str]:
    """Return the precisions to try, the fastest first."""
    if asked != "auto":
        return [asked]
    if device.startswith("cuda"):
        return ["float16"]
    large = min(config.width, config.hidden) >= MIN_INT8_WIDTH
    fast = has_avx2() or not is_x86()
    return ["int8", "float32"] if device == "cpu" and large and fast else ["float32"]


def _most_helpful(refusals: list[str]) -> str:
    """Return the last refusal that names a package to install, else that of the last engine, the most general one."""
    return next((refusal for refusal in reversed(refusals) if "pip install" in refusal), refusals[-1])


def _module(name: str) -> EngineModule:
    return cast(EngineModule, import_module(ENGINES[name]))
