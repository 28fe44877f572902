"""One file per system: how a transformer is trained (`loss`) and how it translates (`translate`).

Nothing else in the project knows which systems there are: a new one is a new file and a line here.
"""

from __future__ import annotations

import torch

from maskpredict.errors import UserError
from maskpredict.model.folder import ModelFolder, take_weights
from maskpredict.model.int8_transformer import Int8Transformer
from maskpredict.model.onnxruntime_transformer import OnnxruntimeTransformer, is_available
from maskpredict.model.unfilled import unfilled
from maskpredict.systems.autoregressive import Autoregressive
from maskpredict.systems.base import Loss, System, Vocabulary
from maskpredict.systems.cmlm import CMLM
from maskpredict.systems.ctc import CTC
from maskpredict.systems.fairseq_cmlm import FairseqCMLM, FairseqRelativeCMLM
from maskpredict.systems.fertility import Fertility
from maskpredict.systems.refinement import Refinement
from maskpredict.tokenizer import Tokenizers

SYSTEMS: dict[str, type[System]] = {
    system.name: system
    for system in (CMLM, Autoregressive, Fertility, CTC, Refinement, FairseqCMLM, FairseqRelativeCMLM)
}
"""Systems by the name that configs and model folders use."""


def find_system(name: str) -> type[System]:
    """The system of that name."""
    if name not in SYSTEMS:
        raise UserError(f"there is no system '{name}'; choose one of {', '.join(SYSTEMS)}.")
    return SYSTEMS[name]


def build_system(contents: ModelFolder, *, int8: bool = False, onnxruntime: bool | None = None) -> System:
    """The system a model folder holds, ready to translate on the CPU; with `int8`, in eight bits there.

    In eight bits, onnxruntime computes what it can where it is available, unless told otherwise.
    """
    with unfilled():
        system = find_system(contents.system)(contents.config, vocabulary_of(contents.tokenizers))
    take_weights(system, contents.weights, int8=int8)
    if int8 and system.works_in_passes and (is_available() if onnxruntime is None else onnxruntime):
        system.transformer = OnnxruntimeTransformer(system.transformer, torch.get_num_threads())
    elif int8:
        system.transformer = Int8Transformer(system.transformer)
    return system.eval()


def vocabulary_of(tokenizers: Tokenizers) -> Vocabulary:
    """What a system must know of these tokenizers."""
    return Vocabulary(tokenizers.source.vocab_size, tokenizers.target.vocab_size, tokenizers.target.special)


__all__ = [
    "CMLM",
    "CTC",
    "SYSTEMS",
    "Autoregressive",
    "FairseqCMLM",
    "FairseqRelativeCMLM",
    "Fertility",
    "Loss",
    "Refinement",
    "System",
    "Vocabulary",
    "build_system",
    "find_system",
    "vocabulary_of",
]
