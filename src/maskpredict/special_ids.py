"""The ids that stand for no text, shared by every kind of tokenizer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SpecialIds:
    """The ids that stand for no text. The defaults are those of every vocabulary learned here."""

    pad: int = 0
    bos: int = 1
    eos: int = 2
    unk: int = 3
    mask: int = 4
