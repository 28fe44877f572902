"""Everything that is known after a race, for JSON, tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from maskpredict.bench.comparison import CrossOver, Ratio
from maskpredict.bench.machine import Machine
from maskpredict.bench.race import Heat
from maskpredict.bench.racer_result import RacerResult
from maskpredict.bench.workload import WorkloadSummary

TIMED = (
    "Timed is text in, text out: splitting into subwords and joining them is in, for every racer in the same way; "
    "loading the model is out. A batch is what a racer is given at once, sentences of similar length together. Times "
    "are medians over rounds with quartiles in brackets; ratios are taken within each round."
)


@dataclass(frozen=True)
class RaceResult:
    """Everything that is known after a race."""

    machine: Machine
    course: WorkloadSummary
    config: Mapping[str, Any]
    """All settings of the race."""
    signature: str
    """Of BLEU."""
    racers: tuple[RacerResult, ...]
    ratios: tuple[Ratio, ...]
    cross_overs: tuple[CrossOver, ...]
    notes: tuple[str, ...]
    """Who could not take part, and what else a reader must know."""
    interrupted: bool
    """True when someone ended the race before it was over."""
    heats: tuple[Heat, ...]
    timed: str = TIMED

    def to_dict(self) -> dict[str, Any]:
        """The result for JSON."""
        return asdict(self)
