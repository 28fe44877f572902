"""Racers against each other: ratios, and the batch size from which on writing word by word is faster."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from maskpredict.bench.race import Heat
from maskpredict.bench.racer_result import RacerResult
from maskpredict.bench.racers.base import Entry
from maskpredict.bench.timing import Spread
from maskpredict.errors import UserError

PARALLEL = ("mask-predict", "mask-predict shallow", "one pass")
"""Engines that predict all words at once."""


@dataclass(frozen=True)
class Ratio:
    """How many times as fast a racer is as a baseline."""

    racer: str
    baseline: str
    batch_size: int | None
    """None where each has its own best size."""
    times_as_fast: Spread


@dataclass(frozen=True)
class CrossOver:
    """Where a parallel racer, faster with small batches, is overtaken by greedy decoding."""

    racer: str
    baseline: str
    batch_size: float | None
    """Interpolated between two batch sizes; None if it is not overtaken as batches grow."""
    says: str


def in_main_type(entries: Sequence[Entry]) -> list[Entry]:
    """Each engine and way to decode once, in the last of the compute types that it races in."""
    return list({(entry.engine, entry.settings): entry for entry in entries}.values())


def default_baselines(entries: Sequence[Entry]) -> list[str]:
    """What parallel racers are measured against: all others, in the compute type that one would use."""
    names = [entry.name for entry in in_main_type(entries) if entry.engine not in PARALLEL]
    return names if any(entry.engine in PARALLEL for entry in entries) else names[:1]


def check_baselines(names: Sequence[str], entries: Sequence[Entry]) -> None:
    """Refuse a baseline that does not race."""
    known = [entry.name for entry in entries]
    for name in names:
        if name not in known:
            raise UserError(f"there is no racer {name} to be a baseline; choose some of {', '.join(known)}.")


def ratios(heats: Sequence[Heat], racers: Sequence[RacerResult], baselines: Sequence[str]) -> tuple[Ratio, ...]:
    """Parallel racers against every baseline, at each batch size and each at its best.

    Where none of them is left beside the baselines, all others are compared with them.
    """
    others = [racer for racer in racers if racer.entry.name not in baselines]
    compared = [racer for racer in others if racer.entry.engine in PARALLEL] or others
    found = []
    for racer in compared:
        name = racer.entry.name
        for baseline in (own for own in racers if own.entry.name in baselines):
            other = baseline.entry.name
            for size in racer.sizes:
                spread = _times_as_fast(heats, (name, size.batch_size), (other, size.batch_size))
                found += [Ratio(name, other, size.batch_size, spread)] if spread else []
            spread = _times_as_fast(heats, (name, racer.best.batch_size), (other, baseline.best.batch_size))
            found += [Ratio(name, other, None, spread)] if spread else []
    return tuple(found)


def _times_as_fast(heats: Sequence[Heat], racer: tuple[str, int], baseline: tuple[str, int]) -> Spread | None:
    """Over the rounds in which both, given as name and batch size, took part."""

    def by_round(which: tuple[str, int]) -> dict[int, float]:
        return {heat.round: heat.seconds_per_sentence for heat in heats if (heat.racer, heat.batch_size) == which}

    own, other = by_round(racer), by_round(baseline)
    shared = [other[number] / own[number] for number in own if number in other]
    return Spread.of(shared) if shared else None


def cross_overs(heats: Sequence[Heat], racers: Sequence[RacerResult]) -> tuple[CrossOver, ...]:
    """Each parallel racer against greedy decoding in the same compute type."""
    names = [racer.entry.name for racer in racers]
    found = []
    for racer in racers:
        greedy = f"ar-b1-{racer.entry.compute_type}"
        if racer.entry.engine in PARALLEL and greedy in names:
            sizes = [size.batch_size for size in racer.sizes]
            spreads = {size: _times_as_fast(heats, (racer.entry.name, size), (greedy, size)) for size in sizes}
            times = {size: spread.median for size, spread in spreads.items() if spread}
            if times:  # an interrupted race may have no round with both
                found.append(_cross_over(racer.entry.name, greedy, times))
    return tuple(found)


def _cross_over(racer: str, greedy: str, times_as_fast: Mapping[int, float]) -> CrossOver:
    sizes = sorted(times_as_fast)
    for small, large in pairwise(sizes):
        before, after = math.log(times_as_fast[small]), math.log(times_as_fast[large])
        if before >= 0 > after:
            share = before / (before - after)
            batch = math.exp(math.log(small) + share * (math.log(large) - math.log(small)))
            says = f"{racer} is faster than {greedy} up to a batch of about {batch:.0f}."
            return CrossOver(racer, greedy, batch, says)
    return CrossOver(racer, greedy, None, f"{racer} is {_throughout(times_as_fast)} than {greedy}.")


def _throughout(times_as_fast: Mapping[int, float]) -> str:
    """What to say of a racer that is not overtaken as batches grow."""
    faster = {times >= 1 for times in times_as_fast.values()}
    if len(faster) == 2:
        return "slower with small batches and faster with large ones"
    return f"{'faster' if True in faster else 'slower'} at every batch size raced"
