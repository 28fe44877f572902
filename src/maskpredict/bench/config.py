"""Every knob of a race, and the values for one of less than a minute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maskpredict.errors import UserError
from maskpredict.runtime.find_model import find_device

PEERS = ("ctranslate2", "transformers")
COMPUTE_TYPES = {"cpu": ("float32", "int8"), "cuda": ("float16",)}
"""What is raced on a kind of device unless told otherwise, the main one last."""


@dataclass(frozen=True)
class PassesAndCandidates:
    """A way to decode with mask-predict."""

    iterations: int
    length_candidates: int


@dataclass(frozen=True)
class BenchConfig:
    """Who races, on what, and how."""

    model: str = ""
    """Model that decodes with mask-predict: a folder, or the name of a shipped one; empty for none."""
    shallow: str = ""
    """Another model that decodes with mask-predict, say with a shallow decoder; empty for none."""
    teacher: str = ""
    """Autoregressive model, for our beam search and for the peers; empty for none."""
    rival: str = ""
    """Another autoregressive model for CTranslate2, say with a deep encoder and a shallow decoder; empty for none."""
    one_pass: str = ""
    """Model that translates in a single pass, such as one trained with CTC; empty for none."""
    passes: tuple[PassesAndCandidates, ...] = (PassesAndCandidates(4, 1), PassesAndCandidates(10, 5))
    """Passes and length candidates of mask-predict."""
    speeds: tuple[str, ...] = ("fast", "balanced", "best")
    """Presets of mask-predict, in the main compute type alone."""
    beams: tuple[int, ...] = (1, 5)
    """Beam sizes of all that is autoregressive."""
    peers: tuple[str, ...] = PEERS
    """Other engines: ctranslate2, transformers."""
    compute_types: tuple[str, ...] = ()
    """Compute types, the main one last; float32 and int8 on a CPU and float16 on a GPU unless given."""
    baselines: tuple[str, ...] = ()
    """Racers that the others are compared with; all autoregressive ones, in the main compute type, unless given."""

    sentences: int = 64
    """Sentences to race on, drawn at random; all if there are fewer."""
    subwords: int | None = None
    """Race on the sentences whose sources are nearest to this length instead, the end mark not counted."""
    bleu_sentences: int | None = None
    """Sentences to score on, drawn at random; those that are raced on unless given."""

    batch_sizes: tuple[int, ...] = (1, 10, 32, 64)
    """Sentences given to a racer at once; the best of them is found for each racer."""
    rounds: int = 5
    """How often everything is measured."""
    calls: int = 32
    """Most batches that are timed in a heat; with small ones, only some of the sentences are used, of all lengths."""
    seconds: float | None = None
    """End after this time, loading included, though not before everybody has run once at the smallest batch size."""
    seed: int = 1
    """Seed of everything that is drawn at random."""
    device: str = "auto"
    """Where to race: auto, cpu, cuda or cuda:1."""
    threads: int | None = None
    """CPU threads of every racer; as many as PyTorch takes unless given."""

    def __post_init__(self) -> None:
        if not (self.model or self.shallow or self.teacher or self.one_pass):
            raise UserError("there is nothing to race; give a CMLM, an autoregressive model as its teacher, or both.")
        for peer in self.peers:
            if peer not in PEERS:
                raise UserError(f"there is no peer {peer!r}; choose some of {', '.join(PEERS)}.")
        for name in ("sentences", "subwords", "bleu_sentences", "rounds", "calls", "threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"{name.replace('_', ' ')} is {value}; use 1 or more.")
        if not self.batch_sizes or min(self.batch_sizes) < 1:
            raise UserError("a race needs batch sizes of 1 or more.")


def quick_values(device: str) -> dict[str, Any]:
    """What to change for a first impression: few racers, few sentences, one compute type."""
    return {
        "passes": (PassesAndCandidates(4, 1),),
        "speeds": ("balanced",),
        "compute_types": COMPUTE_TYPES.get(find_device(device).type, ())[-1:],
        "sentences": 6,
        "batch_sizes": (1, 6),
        "calls": 4,
        "seconds": 25.0,
    }
