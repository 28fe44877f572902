"""fairseq's own CMLM (`cmlm_transformer`): its dictionary has no MASK, and UNK is used instead."""

from __future__ import annotations

import re

from maskpredict.convert.checkpoint import Checkpoint
from maskpredict.convert.family import Family
from maskpredict.convert.layers import ArchitectureDefaults
from maskpredict.special_ids import SpecialIds
from maskpredict.systems.fairseq_cmlm import FairseqCMLM, FairseqRelativeCMLM

SYMBOLS = ("<s>", "<pad>", "</s>", "<unk>")
"""Symbols that fairseq puts before every dictionary."""
SPECIAL = SpecialIds(bos=0, pad=1, eos=2, unk=3, mask=3)
DEFAULTS = ArchitectureDefaults(norm_epsilon=1e-5, scale_embeddings=True, activation="relu")


def _system(checkpoint: Checkpoint) -> str:
    return FairseqRelativeCMLM.name if checkpoint.settings.get("pred_length_offset") else FairseqCMLM.name


FAIRSEQ_CMLM = Family(
    name="fairseq-cmlm",
    description="a CMLM of fairseq",
    architectures=re.compile(r"cmlm_transformer(_wmt_en_de)?"),
    symbols=SYMBOLS,
    special=SPECIAL,
    defaults=DEFAULTS,
    system=_system,
    length_table="decoder.embed_length.weight",
)
