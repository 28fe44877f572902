"""What tells one family of foreign models from another; each has a file of its own beside this one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from maskpredict.convert.checkpoint import Checkpoint
from maskpredict.convert.layers import ArchitectureDefaults
from maskpredict.tokenizer import SpecialIds


@dataclass(frozen=True)
class Family:
    """Checkpoints of one kind, and what becomes of them."""

    name: str
    """What `maskpredict import` calls it."""
    what: str
    """For people."""
    architectures: re.Pattern[str]
    """Matches the whole names of its architectures."""
    symbols: tuple[str, ...]
    """The symbols in front of those in the dictionary files."""
    special: SpecialIds
    defaults: ArchitectureDefaults
    system: Callable[[Checkpoint], str]
    """Name of the system that runs the model."""
    length_table: str | None = None
    """Name of the tensor with the length classes."""
    begins_with_eos: bool = False
    """True when the decoder is fed the end mark first, not BOS."""
    suppressed: tuple[int, ...] = ()
    """Ids that are never produced."""
