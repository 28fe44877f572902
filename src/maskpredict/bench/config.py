"""Configuration of `bench`, and the values of `--quick`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maskpredict.distill.teachers.base import TeacherConfig
from maskpredict.engines import check_name
from maskpredict.engines.devices import find_device
from maskpredict.errors import UserError

PEERS = ("ctranslate2", "transformers")
COMPUTE_TYPES = {"cpu": ("float32", "int8"), "cuda": ("float16",)}
"""Default compute types by device type, the main one last."""


@dataclass(frozen=True)
class PassesAndCandidates:
    """Decoding settings of mask-predict."""

    iterations: int
    length_candidates: int


@dataclass(frozen=True)
class BenchConfig:
    """Racers, sentences and measurement."""

    model: str = ""
    """Model that decodes with mask-predict: a folder, or the name of a shipped one; empty for none."""
    shallow: str = ""
    """Another model that decodes with mask-predict, such as one with a shallow decoder; empty for none."""
    teacher: str = ""
    """Autoregressive model, for our beam search and for the peers; empty for none."""
    rival: str = ""
    """Another autoregressive model for CTranslate2, such as one with a shallow decoder; empty for none."""
    one_pass: str = ""
    """Single-pass model, such as one trained with CTC; empty for none."""
    alignment: str = ""
    """Alignment model; empty for none."""
    alignment_passes: tuple[int, ...] = (1, 2, 4)
    """Passes of the alignment model."""
    outside: TeacherConfig | None = None
    """Teacher from outside, raced in its own engine; none for none."""
    passes: tuple[PassesAndCandidates, ...] = (PassesAndCandidates(4, 1), PassesAndCandidates(10, 5))
    """Passes and length candidates of mask-predict."""
    speeds: tuple[str, ...] = ("fast", "balanced", "best")
    """Presets of mask-predict, in the main compute type only."""
    beams: tuple[int, ...] = (1, 5)
    """Beam sizes of the autoregressive racers."""
    peers: tuple[str, ...] = PEERS
    """Other engines: ctranslate2, transformers."""
    compute_types: tuple[str, ...] = ()
    """Compute types, the main one last; by default float32 and int8 on a CPU, float16 on a GPU."""
    baselines: tuple[str, ...] = ()
    """Racers that the others are compared with; by default all autoregressive ones in the main compute type."""

    sentences: int = 64
    """Number of sentences to translate, drawn at random; all if there are fewer."""
    subwords: int | None = None
    """Instead, choose the sentences with source lengths closest to this, in subwords without the end mark."""
    bleu_sentences: int | None = None
    """Number of sentences for BLEU, drawn at random; by default the timed ones."""

    batch_sizes: tuple[int, ...] = (1, 10, 32, 64)
    """Batch sizes; the best is found for each racer."""
    rounds: int = 5
    """Number of rounds; each measures every racer at every batch size."""
    calls: int = 32
    """Maximum number of batches in a heat; small batches use a subset of the sentences, of all lengths."""
    seconds: float | None = None
    """Time limit including loading; every racer still runs once at the smallest batch size."""
    seed: int = 1
    """Random seed."""
    device: str = "auto"
    """Device: auto, cpu, cuda or cuda:1."""
    engine: str = "auto"
    """Engine of our racers: auto, onnxruntime, cuda, int8 or torch."""
    threads: int | None = None
    """CPU threads of every racer; by default as many as PyTorch uses."""

    def __post_init__(self) -> None:
        check_name(self.engine)
        if not (self.model or self.shallow or self.teacher or self.one_pass or self.alignment):
            raise UserError("no model was given; give a CMLM, an autoregressive model as its teacher, or both.")
        for peer in self.peers:
            if peer not in PEERS:
                raise UserError(f"there is no peer {peer!r}; choose some of {', '.join(PEERS)}.")
        for name in ("sentences", "subwords", "bleu_sentences", "rounds", "calls", "threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"{name.replace('_', ' ')} is {value}; use 1 or more.")
        if not self.batch_sizes or min(self.batch_sizes) < 1:
            raise UserError("a race needs batch sizes of 1 or more.")
        if any(beam < 1 for beam in self.beams):
            raise UserError("a race needs beam sizes of 1 or more.")


def quick_values(device: str) -> dict[str, Any]:
    """Values of `--quick`: few racers, few sentences, one compute type."""
    return {
        "passes": (PassesAndCandidates(4, 1),),
        "speeds": ("balanced",),
        "alignment_passes": (1, 2),
        "compute_types": COMPUTE_TYPES.get(find_device(device).partition(":")[0], ())[-1:],
        "sentences": 6,
        "batch_sizes": (1, 6),
        "calls": 4,
        "seconds": 25.0,
    }
