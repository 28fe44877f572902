"""Systems, one file each: the training objective and its options. `maskpredict.decoding` has the decoders.

A new system is a new file and a line in `SYSTEMS`. Importing this package does not import PyTorch; `find_system` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from maskpredict.errors import UserError
from maskpredict.special_ids import SpecialIds
from maskpredict.tokenizer import Tokenizers

if TYPE_CHECKING:
    from maskpredict.decoding.decoder import Decoder
    from maskpredict.systems.base import System


@dataclass(frozen=True)
class Vocabulary:
    """The sizes and special ids of a model's vocabularies."""

    source_size: int
    target_size: int
    special: SpecialIds
    """Ids of the target side's special symbols."""


@dataclass(frozen=True)
class TrainingOptions:
    """Options of training that only one system has, here none.

    A system with options has a frozen subclass beside it, and names it in `System.options_type`. Its fields, each
    with a default, become keys of the train config.
    """


@dataclass(frozen=True)
class SystemEntry:
    """A system's PyTorch module and its decoder, each as `package.module:Class`."""

    module: str
    decoder: str


def _ours(module: str, decoder: str) -> SystemEntry:
    return SystemEntry(f"maskpredict.systems.{module}", f"maskpredict.decoding.{decoder}")


SYSTEMS: dict[str, SystemEntry] = {
    "cmlm": _ours("cmlm:CMLM", "masked:MaskedDecoder"),
    "autoregressive": _ours("autoregressive:Autoregressive", "beam:BeamDecoder"),
    "fertility": _ours("fertility:Fertility", "fertility:FertilityDecoder"),
    "alignment": _ours("alignment:Alignment", "alignment:AlignmentDecoder"),
    "ctc": _ours("ctc:CTC", "alignment:CTCDecoder"),
    "refinement": _ours("refinement:Refinement", "masked:RefinementDecoder"),
    "insertion": _ours("insertion:Insertion", "insertion:InsertionDecoder"),
    "fairseq_cmlm": _ours("fairseq_cmlm:FairseqCMLM", "framed:FramedDecoder"),
    "fairseq_cmlm_relative": _ours("fairseq_cmlm:FairseqRelativeCMLM", "framed:FramedDecoder"),
}
"""Systems by the name that configs and model folders use."""


def find_system(name: str) -> type[System]:
    """Return the PyTorch module of the system of that name."""
    return _load(_entry(name).module)


def find_decoder(name: str) -> type[Decoder]:
    """Return the decoder of the system of that name."""
    return _load(_entry(name).decoder)


def vocabulary_of(tokenizers: Tokenizers) -> Vocabulary:
    """Return the sizes and special ids of these tokenizers."""
    return Vocabulary(tokenizers.source.vocab_size, tokenizers.target.vocab_size, tokenizers.target.special)


def _entry(name: str) -> SystemEntry:
    if name not in SYSTEMS:
        raise UserError(f"there is no system '{name}'; choose one of {', '.join(SYSTEMS)}.")
    return SYSTEMS[name]


def _load(location: str) -> Any:
    module, name = location.split(":")
    return getattr(import_module(module), name)
