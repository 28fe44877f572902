"""What each racer achieved: its times at every batch size, and what its translations are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles

from maskpredict.bench.race import Heat
from maskpredict.bench.racers.base import Entry
from maskpredict.bench.timing import Spread


@dataclass(frozen=True)
class RacerScore:
    """What a racer's translations are worth."""

    bleu: float
    same_texts: float | None = None
    """Share of sentences translated exactly as by `Entry.same_as`; None if that one did not race."""


@dataclass(frozen=True)
class SizeResult:
    """A racer at one batch size."""

    batch_size: int
    computed_size: int
    """What the memory sufficed for."""
    sentences: int
    """In each heat."""
    milliseconds: Spread
    """By sentence, over the rounds."""
    p95_milliseconds: float | None
    """Time within which 95% of the sentences were translated; None if they were translated together."""

    @property
    def sentences_per_second(self) -> float:
        """The median."""
        return 1000 / self.milliseconds.median


@dataclass(frozen=True)
class RacerResult:
    """A racer at all batch sizes."""

    entry: Entry
    score: RacerScore
    sizes: tuple[SizeResult, ...]

    def at(self, batch_size: int) -> SizeResult | None:
        """The result at a batch size, if there is one."""
        return next((size for size in self.sizes if size.batch_size == batch_size), None)

    @property
    def best(self) -> SizeResult:
        """At the batch size with the highest throughput."""
        return min(self.sizes, key=lambda size: size.milliseconds.median)


def racer_results(
    heats: Sequence[Heat], entries: Sequence[Entry], scores: Mapping[str, RacerScore]
) -> tuple[RacerResult, ...]:
    """Times of each racer that finished a heat."""
    found = []
    for entry in entries:
        own = [heat for heat in heats if heat.racer == entry.name]
        sizes = sorted({heat.batch_size for heat in own})
        if own:
            results = [_at([heat for heat in own if heat.batch_size == size]) for size in sizes]
            found.append(RacerResult(entry, scores[entry.name], tuple(results)))
    return tuple(found)


def _at(heats: Sequence[Heat]) -> SizeResult:
    """Of one racer's heats at one batch size."""
    single = [1000 * seconds for heat in heats for seconds in heat.seconds] if heats[0].batch_size == 1 else []
    return SizeResult(
        batch_size=heats[0].batch_size,
        computed_size=min(heat.computed_size for heat in heats),
        sentences=heats[0].sentences,
        milliseconds=Spread.of([1000 * heat.seconds_per_sentence for heat in heats]),
        p95_milliseconds=quantiles(single, n=20, method="inclusive")[-1] if len(single) > 1 else None,
    )
