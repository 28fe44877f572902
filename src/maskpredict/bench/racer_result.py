"""Results of each racer: times at every batch size, and the quality of its translations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles

from maskpredict.bench.race import Heat
from maskpredict.bench.racers.base import Entry
from maskpredict.bench.timing import Spread


@dataclass(frozen=True)
class RacerScore:
    """Quality of a racer's translations."""

    bleu: float
    same_texts: float | None = None
    """Fraction of translations identical to those of `Entry.same_as`; None without that racer."""


@dataclass(frozen=True)
class SizeResult:
    """Times of a racer at one batch size."""

    batch_size: int
    computed_size: int
    """Actual batch size; smaller than `batch_size` if memory ran out."""
    sentences: int
    """Number of sentences in each heat."""
    milliseconds: Spread
    """Milliseconds per sentence over the rounds."""
    p95_milliseconds: float | None
    """95th percentile of the time per sentence; None for batches."""

    @property
    def sentences_per_second(self) -> float:
        """Median throughput."""
        return 1000 / self.milliseconds.median


@dataclass(frozen=True)
class RacerResult:
    """Results of a racer at all batch sizes."""

    entry: Entry
    score: RacerScore
    sizes: tuple[SizeResult, ...]

    def at(self, batch_size: int) -> SizeResult | None:
        """Result at a batch size, or None."""
        return next((size for size in self.sizes if size.batch_size == batch_size), None)

    @property
    def best(self) -> SizeResult:
        """Result at the batch size with the highest throughput."""
        return min(self.sizes, key=lambda size: size.milliseconds.median)


def racer_results(
    heats: Sequence[Heat], entries: Sequence[Entry], scores: Mapping[str, RacerScore]
) -> tuple[RacerResult, ...]:
    """Results of each racer with at least one heat."""
    results = []
    for entry in entries:
        racer_heats = [heat for heat in heats if heat.racer == entry.name]
        sizes = sorted({heat.batch_size for heat in racer_heats})
        if racer_heats:
            by_size = [_size_result([heat for heat in racer_heats if heat.batch_size == size]) for size in sizes]
            results.append(RacerResult(entry, scores[entry.name], tuple(by_size)))
    return tuple(results)


def _size_result(heats: Sequence[Heat]) -> SizeResult:
    """Result of one racer's heats at one batch size."""
    single = [1000 * seconds for heat in heats for seconds in heat.seconds] if heats[0].batch_size == 1 else []
    return SizeResult(
        batch_size=heats[0].batch_size,
        computed_size=min(heat.computed_size for heat in heats),
        sentences=heats[0].sentences,
        milliseconds=Spread.of([1000 * heat.seconds_per_sentence for heat in heats]),
        p95_milliseconds=quantiles(single, n=20, method="inclusive")[-1] if len(single) > 1 else None,
    )
