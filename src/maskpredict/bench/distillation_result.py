"""Results of a race of distillations, for JSON and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from maskpredict.bench.machine import Machine
from maskpredict.bench.table import describe, spread_text, table
from maskpredict.bench.timing import Spread
from maskpredict.bench.workload import WorkloadSummary

TIMED = (
    "Timed is a distillation without loading the teacher. CPU seconds are those of all threads. Both are medians over "
    "rounds with quartiles in brackets; the overhead is taken within each round."
)


@dataclass(frozen=True)
class Run:
    """One timed distillation."""

    round: int
    way: str
    """by ids, or by text."""
    beam_size: int
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Way:
    """All runs of a way with a beam size."""

    way: str
    beam_size: int
    sentences_per_second: Spread
    cpu_seconds: Spread


@dataclass(frozen=True)
class Overhead:
    """What distillation by text takes beyond that by ids: 0.01 is a hundredth more."""

    beam_size: int
    cpu_seconds: Spread
    seconds: Spread


@dataclass(frozen=True)
class DistillationResult:
    """Results of a race of distillations; field names are the keys of bench.json."""

    machine: Machine
    teacher: str
    workload: WorkloadSummary
    ways: tuple[Way, ...]
    overheads: tuple[Overhead, ...]
    notes: tuple[str, ...]
    runs: tuple[Run, ...]
    timed: str = TIMED

    def to_dict(self) -> dict[str, Any]:
        """Content of bench.json."""
        return asdict(self)

    def to_markdown(self) -> str:
        """Content of bench.md."""
        rounds = max(run.round for run in self.runs)
        rows = [
            [way.way, str(way.beam_size), spread_text(way.sentences_per_second), spread_text(way.cpu_seconds)]
            for way in self.ways
        ]
        lines = [
            f"{describe(self.machine)}.",
            "",
            f"Teacher: {self.teacher}. Sentences: {self.workload.sentences} of {self.workload.name}, with "
            f"{self.workload.mean_subwords} subwords on average. Rounds: {rounds}. {self.timed}",
            "",
            *table(["distillation", "beams", "sentences/s", "CPU seconds"], rows),
            "",
            *(
                f"- With {own.beam_size} beam{'s' if own.beam_size > 1 else ''}, by text takes "
                f"{_percent(own.cpu_seconds)} CPU time than by ids, and {_percent(own.seconds)} time."
                for own in self.overheads
            ),
            *(f"- {note}" for note in self.notes),
        ]
        return "\n".join(lines) + "\n"


def ways(runs: Sequence[Run], sentences: int) -> tuple[Way, ...]:
    """Speed of each way with each beam size, the smallest first."""
    kinds = sorted({(run.beam_size, run.way) for run in runs})
    grouped = {kind: [run for run in runs if (run.beam_size, run.way) == kind] for kind in kinds}
    return tuple(
        Way(
            way=way,
            beam_size=beam_size,
            sentences_per_second=Spread.of([sentences / run.seconds for run in own]),
            cpu_seconds=Spread.of([run.cpu_seconds for run in own]),
        )
        for (beam_size, way), own in grouped.items()
    )


def overheads(runs: Sequence[Run]) -> tuple[Overhead, ...]:
    """Overhead by text with each beam size, the smallest first."""
    by_key = {(run.beam_size, run.round, run.way): run for run in runs}
    rounds = {run.round for run in runs}
    found = []
    for beam_size in sorted({run.beam_size for run in runs}):
        pairs = [(by_key[beam_size, number, "by ids"], by_key[beam_size, number, "by text"]) for number in rounds]
        found.append(
            Overhead(
                beam_size,
                cpu_seconds=Spread.of([text.cpu_seconds / ids.cpu_seconds - 1 for ids, text in pairs]),
                seconds=Spread.of([text.seconds / ids.seconds - 1 for ids, text in pairs]),
            )
        )
    return tuple(found)


def _percent(spread: Spread) -> str:
    """Such as `1.7% (0.8–2.1) more`; a negative number is less."""
    more, low, high = (100 * value for value in (spread.median, spread.low, spread.high))
    return f"{more:.1f}%{f' ({low:.1f}–{high:.1f})' if low < high else ''} more"
