"""What takes part in a race: anything that turns texts into texts, and how it is described.

All racers do the same work. Text goes in and text comes out, so each of them splits into subwords and joins them again
within its time; all beam searches have the same length penalty and the same longest translation.
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
    """What a racer is, for tables and pictures."""

    name: str
    """What tables call it and `--baseline` takes."""
    engine: str
    """mask-predict, mask-predict shallow, one pass, autoregressive, CTranslate2, CTranslate2 rival or transformers."""
    settings: str
    """How it decodes, in a few characters."""
    compute_type: str
    what: str
    """Engine, model and decoding in one line."""
    same_as: str = ""
    """Name of the racer that should find the same translations, rounding aside."""


class Racer(Protocol):
    """One engine with one model and one way to decode."""

    @property
    def entry(self) -> Entry:
        """What it is."""
        ...

    def prepare(self, sentences: Sequence[str]) -> None:
        """Load the model and try it on one of the sentences; a `UserError` says why it cannot take part."""
        ...

    def translate(self, batch: Sequence[str]) -> list[str]:
        """Translate sentences, all at once or as the engine itself divides them."""
        ...


@dataclass(frozen=True)
class ComputeSettings:
    """Where racers run."""

    device: str
    threads: int
    compute_types: tuple[str, ...]
    """The main one last: presets and ratios are about that one."""

    @property
    def main_type(self) -> str:
        """The compute type one would use here."""
        return self.compute_types[-1]


@dataclass(frozen=True)
class RacedModel:
    """A model that several racers share."""

    path: Path
    contents: ModelFolder

    @property
    def size(self) -> str:
        """Layers and widths, as in 6+6 layers of 512/2048."""
        config = self.contents.config
        return f"{config.encoder_layers}+{config.decoder_layers} layers of {config.width}/{config.hidden}"

    def longest_translation(self, source_subwords: int) -> int:
        """Where beam search gives up: what `BeamSettings` says, with the source's end mark counted."""
        return min(int(MAX_LENGTH_RATIO * (source_subwords + 1)) + 10, self.contents.config.max_positions)
