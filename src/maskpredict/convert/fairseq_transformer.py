"""fairseq's autoregressive transformers, whose decoders start from the end mark instead of BOS."""

from __future__ import annotations

import re

from maskpredict.convert.fairseq_cmlm import DEFAULTS, SPECIAL, SYMBOLS
from maskpredict.convert.family import Family
from maskpredict.systems.autoregressive import Autoregressive

FAIRSEQ_TRANSFORMER = Family(
    name="fairseq-transformer",
    description="an autoregressive model of fairseq",
    architectures=re.compile(r"transformer(_tiny|_(iwslt|wmt|vaswani)_\w+)?"),
    symbols=SYMBOLS,
    special=SPECIAL,
    defaults=DEFAULTS,
    system=lambda checkpoint: Autoregressive.name,
    begins_with_eos=True,
    suppressed=(SPECIAL.bos, SPECIAL.pad),
)
