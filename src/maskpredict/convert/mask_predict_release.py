"""Models that the authors of Mask-Predict released with the paper, trained with a fork of fairseq of 2019."""

from __future__ import annotations

import re

from maskpredict.convert.family import Family
from maskpredict.convert.layers import ArchitectureDefaults
from maskpredict.special_ids import SpecialIds

RELEASE = Family(
    name="mask-predict-release",
    description="a model of the Mask-Predict authors",
    architectures=re.compile(r"bert_transformer_seq2seq(_big)?"),
    symbols=("<s>", "<pad>", "</s>", "<unk>", "<mask>"),
    special=SpecialIds(bos=0, pad=1, eos=2, unk=3, mask=4),
    defaults=ArchitectureDefaults(norm_epsilon=1e-12, scale_embeddings=False, activation="gelu"),
    system=lambda checkpoint: "cmlm",
    length_table="encoder.embed_lengths.weight",
)
