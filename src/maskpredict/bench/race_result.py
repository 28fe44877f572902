"""`RaceResult`: the results of a race, for JSON, tables and figures."""

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
    """Results of a race; field names are the keys of bench.json."""

    machine: Machine
    workload: WorkloadSummary
    """Sentences of the race."""
    config: Mapping[str, Any]
    """All settings of the race."""
    signature: str
    """sacreBLEU signature."""
    racers: tuple[RacerResult, ...]
    ratios: tuple[Ratio, ...]
    cross_overs: tuple[CrossOver, ...]
    notes: tuple[str, ...]
    """Racers that failed, and other remarks on the results."""
    interrupted: bool
    """True if Ctrl-C ended the race early."""
    heats: tuple[Heat, ...]
    timed: str = TIMED

    def to_dict(self) -> dict[str, Any]:
        """Content of bench.json."""
        return asdict(self)
