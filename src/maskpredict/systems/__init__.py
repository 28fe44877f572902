"""One file per system: how a transformer is trained (`loss`) and how it translates (`translate`).

Nothing else in the project knows which systems there are: a new one is a new file and a line here.
"""

from __future__ import annotations

from maskpredict.errors import UserError
from maskpredict.model.folder import ModelFolder, load_weights
from maskpredict.systems.autoregressive import Autoregressive
from maskpredict.systems.base import Loss, System, Vocabulary
from maskpredict.systems.cmlm import CMLM
from maskpredict.systems.fairseq_cmlm import FairseqCMLM, FairseqRelativeCMLM
from maskpredict.tokenizer import Tokenizers

SYSTEMS: dict[str, type[System]] = {
    system.name: system for system in (CMLM, Autoregressive, FairseqCMLM, FairseqRelativeCMLM)
}
"""Systems by the name that configs and model folders use."""


def find_system(name: str) -> type[System]:
    """The system of that name."""
    if name not in SYSTEMS:
        raise UserError(f"there is no system '{name}'; choose one of {', '.join(SYSTEMS)}.")
    return SYSTEMS[name]


def build_system(contents: ModelFolder) -> System:
    """The system a model folder holds, ready to translate on the CPU."""
    system = find_system(contents.system)(contents.config, vocabulary_of(contents.tokenizers))
    load_weights(system, contents.weights)
    return system.eval()


def vocabulary_of(tokenizers: Tokenizers) -> Vocabulary:
    """What a system must know of these tokenizers."""
    return Vocabulary(tokenizers.source.vocab_size, tokenizers.target.vocab_size, tokenizers.target.special)


__all__ = [
    "CMLM",
    "SYSTEMS",
    "Autoregressive",
    "FairseqCMLM",
    "FairseqRelativeCMLM",
    "Loss",
    "System",
    "Vocabulary",
    "build_system",
    "find_system",
    "vocabulary_of",
]
