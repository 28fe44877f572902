"""`Racer`: the interface of an engine in a race, and its description.

All racers do the same work. They translate text to text, so tokenization and detokenization are part of the time. All
beam searches have the same length penalty and the same maximum length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from maskpredict.model.folder import ModelFolder

LENGTH_PENALTY = 1.0
MAX_LENGTH_RATIO = 2.0
FULL_PRECISION = "float32"


@dataclass(frozen=True)
class Entry:
    """Description of a racer for tables and figures; field names are keys of bench.json."""

    name: str
    """Name in tables and for `--baseline`."""
    engine: str
    """mask-predict, mask-predict shallow, alignment, one pass, autoregressive, CTranslate2, CTranslate2 rival,
    transformers, or teacher from outside."""
    settings: str
    """Short form of the decoding settings."""
    compute_type: str
    what: str
    """Engine, model and decoding settings in one line."""
    same_as: str = ""
    """Name of the racer that should give the same translations, apart from rounding."""


class Racer(Protocol):
    """One engine with one model, decoding settings and compute type."""

    @property
    def entry(self) -> Entry:
        """Description of the racer."""
        ...

    def prepare(self, sentences: Sequence[str]) -> None:
        """Load the model and translate one of the sentences; raises `UserError` if the racer cannot run."""
        ...

    def translate(self, batch: Sequence[str]) -> list[str]:
        """Translate sentences in one call; the engine may split them into batches."""
        ...


@dataclass(frozen=True)
class ComputeSettings:
    """Device, threads, engine of our racers, and compute types of a race."""

    device: str
    threads: int
    engine: str
    compute_types: tuple[str, ...]
    """The main one last; presets and ratios use that one."""

    @property
    def main_type(self) -> str:
        """The main compute type."""
        return self.compute_types[-1]


@dataclass(frozen=True)
class RacedModel:
    """A model that several racers share."""

    path: Path
    contents: ModelFolder

    @property
    def size(self) -> str:
        """Layers and widths, such as `6+6 layers of 512/2048`."""
        config = self.contents.config
        return f"{config.encoder_layers}+{config.decoder_layers} layers of {config.width}/{config.hidden}"

    def longest_translation(self, source_subwords: int) -> int:
        """Maximum length of beam search, as in `BeamSettings`, with the source's end mark counted."""
        return min(int(MAX_LENGTH_RATIO * (source_subwords + 1)) + 10, self.contents.config.max_positions)
