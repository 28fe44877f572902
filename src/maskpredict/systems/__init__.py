"""One file per system: its training objective (`loss`). `maskpredict.decoding` has the decoders.

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
class SystemEntry:
    """Locations of a system's PyTorch module and its decoder, as module:class."""

    learns: str
    decodes: str


SYSTEMS: dict[str, SystemEntry] = {
    "cmlm": SystemEntry("systems.cmlm:CMLM", "decoding.masked:MaskedDecoder"),
    "autoregressive": SystemEntry("systems.autoregressive:Autoregressive", "decoding.beam:BeamDecoder"),
    "fertility": SystemEntry("systems.fertility:Fertility", "decoding.fertility:FertilityDecoder"),
    "alignment": SystemEntry("systems.alignment:Alignment", "decoding.alignment:AlignmentDecoder"),
    "ctc": SystemEntry("systems.ctc:CTC", "decoding.alignment:CTCDecoder"),
    "refinement": SystemEntry("systems.refinement:Refinement", "decoding.masked:RefinementDecoder"),
    "insertion": SystemEntry("systems.insertion:Insertion", "decoding.insertion:InsertionDecoder"),
    "fairseq_cmlm": SystemEntry("systems.fairseq_cmlm:FairseqCMLM", "decoding.framed:FramedDecoder"),
    "fairseq_cmlm_relative": SystemEntry("systems.fairseq_cmlm:FairseqRelativeCMLM", "decoding.framed:FramedDecoder"),
}
"""Systems by the name that configs and model folders use."""


def find_system(name: str) -> type[System]:
    """Return the PyTorch module of the system of that name."""
    return _load(_entry(name).learns)


def find_decoder(name: str) -> type[Decoder]:
    """Return the decoder of the system of that name."""
    return _load(_entry(name).decodes)


def vocabulary_of(tokenizers: Tokenizers) -> Vocabulary:
    """Return the sizes and special ids of these tokenizers."""
    return Vocabulary(tokenizers.source.vocab_size, tokenizers.target.vocab_size, tokenizers.target.special)


def _entry(name: str) -> SystemEntry:
    if name not in SYSTEMS:
        raise UserError(f"there is no system '{name}'; choose one of {', '.join(SYSTEMS)}.")
    return SYSTEMS[name]


def _load(location: str) -> Any:
    module, name = location.split(":")
    return getattr(import_module(f"maskpredict.{module}"), name)
