"""A model folder's system as a PyTorch module with its weights."""

from __future__ import annotations

import torch

from maskpredict.engines import MAX_THREADS
from maskpredict.model.folder import ModelFolder
from maskpredict.model.meta_init import meta_init
from maskpredict.model.module_weights import take_weights
from maskpredict.systems import find_system, vocabulary_of
from maskpredict.systems.base import System


def load_system(contents: ModelFolder) -> System:
    """Return the system a model folder holds, on the CPU in float32."""
    system = empty_system(contents)
    take_weights(system, contents.weights)
    return system.eval()


def empty_system(contents: ModelFolder) -> System:
    """Return the system without weights, on PyTorch's meta device."""
    with meta_init():
        return find_system(contents.system)(contents.config, vocabulary_of(contents.tokenizers))


def set_threads(asked: int | None, device: str) -> None:
    """Set PyTorch's threads for the process: the number asked for, or by default at most `MAX_THREADS` on a CPU."""
    if asked is not None or device == "cpu":
        torch.set_num_threads(asked or min(MAX_THREADS, torch.get_num_threads()))
