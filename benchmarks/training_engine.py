"""Throughput of the training engines on a GPU, and a check that they compute the same loss.

    python benchmarks/training_engine.py DATA results.json [ENGINE ...]

DATA is a data folder. For each system every engine trains for the same small number of updates from the same weights,
and then computes the loss of further batches. The script fails if that loss differs from the plain path by more than
1 %. (Untrained weights would hide errors, since their attention is nearly uniform.) Each engine adds one optimization
to the previous one.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import torch

from maskpredict.corpus.batches import PackedBatches, PaddedBatches
from maskpredict.corpus.dataset import Dataset, ParallelIds
from maskpredict.kernels import short_attention
from maskpredict.model.config import ModelConfig, preset
from maskpredict.systems import find_system, vocabulary_of
from maskpredict.systems.alignment import Alignment
from maskpredict.systems.autoregressive import Autoregressive
from maskpredict.systems.base import System
from maskpredict.training.config import OptimizerConfig
from maskpredict.training.distributed import ProcessGroup
from maskpredict.training.engine import CapturedEngine, EagerEngine, TrainingEngine, mixed_precision, sums_of
from maskpredict.training.loader import Position, UpdateLoader, to_batch
from maskpredict.training.optimizer import Optimizer

SYSTEMS = ("autoregressive", "cmlm", "alignment")
ENGINES = ("padded eager", "packed eager", "packed captured", "short-row attention captured", "compiled")
TOKENS, MAX_LENGTH = 32_768, 127
LONGEST = short_attention.MAX_LENGTH
UPDATES_UNTIMED, UPDATES_TIMED = 40, 100
MATRIX_RATE = 788e12
"""FLOP/s of a large bfloat16 matrix product on one H200, measured."""


@dataclass(frozen=True)
class Measurement:
    """Measurements of one engine."""

    system: str
    engine: str
    first_update_seconds: float
    milliseconds: float
    """For one update."""
    target_tokens_per_second: float
    """Without filling."""
    filling: float
    """Share of the computed target positions."""
    matrix_share: float
    """Share of the chip's matrix rate that the model's own products use."""
    memory_gb: float
    loss_after: float
    """Of one more batch, computed by this engine."""
    plain_loss_after: float
    """Of the same batch and weights, computed by the padded eager path."""


def main(data: Path, results: Path, engines: Sequence[str]) -> None:
    """Measure the engines for all systems; write and print the results."""
    dataset = Dataset(data)
    measured = []
    for name in SYSTEMS:
        for engine in engines:
            measured.append(measure(name, engine, dataset))
            print(measured[-1], flush=True)
            results.write_text(json.dumps({**machine(), "engines": [asdict(one) for one in measured]}, indent=1))
    worst = max(abs(one.loss_after / one.plain_loss_after - 1) for one in measured)
    print(f"largest relative difference to the plain path: {worst:.5f}")
    sys.exit(worst > 0.01)


def measure(name: str, kind: str, dataset: Dataset) -> Measurement:
    """Train a base model for a moment with one engine."""
    torch.manual_seed(1)
    torch.cuda.reset_peak_memory_stats()
    shape = preset("base", {"norm": "pre", "dropout": 0.0, "ctc_positions": 2})
    system = find_system(name)(shape, vocabulary_of(dataset.tokenizers)).cuda().train()
    system.set_progress(0.0)
    split = dataset.split("train")
    batches = (PaddedBatches if kind.startswith("padded") else PackedBatches)(
        split, system.special, tokens=TOKENS, max_length=MAX_LENGTH, slot=system.reserves_slot, seed=1
    )
    engine = make_engine(kind, system)
    optimizer = Optimizer(system, OptimizerConfig(beta2=0.98), ProcessGroup())
    started = time.monotonic()
    tokens = positions = 0
    first = start = 0.0
    for number, update in enumerate(
        islice(UpdateLoader(batches, 1).updates(Position()), UPDATES_UNTIMED + UPDATES_TIMED), 1
    ):
        optimizer.update(engine, update, number, seed=1, rate=1e-3 * min(1.0, number / 100))
        if number in (1, UPDATES_UNTIMED):
            torch.cuda.synchronize()
            first, start = first or time.monotonic() - started, time.monotonic()
        if number > UPDATES_UNTIMED:
            tokens += update.parts[0].arrays.target_tokens
            positions += update.parts[0].arrays.target.ids.size
    torch.cuda.synchronize()
    seconds = time.monotonic() - start
    own, plain = losses_after(engine, system, split, packed=not kind.startswith("padded"))
    return Measurement(
        system=name,
        engine=kind,
        first_update_seconds=round(first, 1),
        milliseconds=round(1000 * seconds / UPDATES_TIMED, 2),
        target_tokens_per_second=round(tokens / seconds),
        filling=round(1 - tokens / positions, 4),
        matrix_share=round(flops_per_target_token(system, split, shape) * tokens / seconds / MATRIX_RATE, 3),
        memory_gb=round(torch.cuda.max_memory_allocated() / 1e9, 1),
        loss_after=own,
        plain_loss_after=plain,
    )


def make_engine(kind: str, system: System) -> TrainingEngine:
    """The engine of that name."""
    short_attention.MAX_LENGTH = 0 if kind.startswith("packed") else LONGEST
    if kind.endswith("eager"):
        return EagerEngine(system, torch.bfloat16, MAX_LENGTH)
    return CapturedEngine(system, torch.bfloat16, MAX_LENGTH, compiled=kind == "compiled")


def losses_after(engine: TrainingEngine, system: System, split: ParallelIds, *, packed: bool) -> tuple[float, float]:
    """The loss of several batches by the engine and by plain padded PyTorch: masks differ, so many are averaged."""
    lines, rows = (
        kind(split, system.special, tokens=TOKENS, max_length=MAX_LENGTH, slot=system.reserves_slot, seed=2)
        for kind in (PackedBatches, PaddedBatches)
    )
    own = plain = torch.zeros(2, dtype=torch.float64, device="cuda")
    for number, pairs in enumerate(lines.plan(0)[:16]):
        own = own + engine.accumulate((lines if packed else rows).arrays(pairs), seed=number)[:2]
        torch.manual_seed(number)
        with torch.no_grad(), mixed_precision(system.device, torch.bfloat16):
            plain = plain + sums_of(system.loss(to_batch(rows.arrays(pairs), system.device, MAX_LENGTH)))[:2]
    return float(own[0] / own[1]), float(plain[0] / plain[1])


def flops_per_target_token(system: System, split: ParallelIds, shape: ModelConfig) -> float:
    """Multiplications and additions of the matrix products, forward and backward, for one target token."""
    d, h = shape.width, shape.hidden
    encoder = shape.encoder_layers * (4 * d * d + 2 * d * h) + shape.decoder_layers * 2 * d * d
    decoder = shape.decoder_layers * (6 * d * d + 2 * d * h)
    predicted = 1.0 if isinstance(system, Autoregressive) else 0.53
    sources = float((split.source.lengths.mean() + 1) / (split.target.lengths.mean() + 1))
    if isinstance(system, Alignment):  # the decoder runs once more, forward only, to find the best alignments
        position = decoder + d * system.vocabulary.target_size
        return 6 * encoder * sources + 8 * position * shape.ctc_positions * sources
    return 6 * (encoder * sources + decoder + predicted * d * system.vocabulary.target_size)


def machine() -> dict[str, str]:
    """Description of the machine."""
    return {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "python": platform.python_version()}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] or ENGINES)
