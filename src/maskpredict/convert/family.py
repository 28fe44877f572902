"""`Family`: a kind of foreign model; each has a file of its own in this package."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from maskpredict.convert.checkpoint import Checkpoint
from maskpredict.convert.layers import ArchitectureDefaults
from maskpredict.special_ids import SpecialIds


@dataclass(frozen=True)
class Family:
    """A kind of foreign model, and its conversion."""

    name: str
    """Name for `maskpredict import`."""
    description: str
    """Noun phrase for messages, such as "a CMLM of fairseq"."""
    architectures: re.Pattern[str]
    """Pattern of its architecture names."""
    symbols: tuple[str, ...]
    """Symbols before those of the dictionary files."""
    special: SpecialIds
    defaults: ArchitectureDefaults
    system: Callable[[Checkpoint], str]
    """Name of the system that runs the model."""
    length_table: str | None = None
    """Name of the tensor with the length classes."""
    begins_with_eos: bool = False
    """True if the decoder starts from the end mark instead of BOS."""
    suppressed: tuple[int, ...] = ()
    """Ids that are never produced."""
