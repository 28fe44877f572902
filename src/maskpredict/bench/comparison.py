"""Comparisons between racers: speed ratios, and the batch size above which greedy decoding is faster."""

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

PARALLEL = ("mask-predict", "mask-predict shallow", "alignment", "one pass")
"""Engines that predict all tokens in parallel."""


@dataclass(frozen=True)
class Ratio:
    """Speed of a racer relative to a baseline."""

    racer: str
    baseline: str
    batch_size: int | None
    """None: each at its best batch size."""
    times_as_fast: Spread


@dataclass(frozen=True)
class CrossOver:
    """Batch size above which greedy decoding is faster than a parallel racer."""

    racer: str
    baseline: str
    batch_size: float | None
    """Interpolated between two batch sizes; None if there is no such size."""
    says: str
    """The comparison in a sentence."""


def in_main_type(entries: Sequence[Entry]) -> list[Entry]:
    """One entry for each engine and decoding setting, in the last of its compute types."""
    return list({(entry.engine, entry.settings): entry for entry in entries}.values())


def default_baselines(entries: Sequence[Entry]) -> list[str]:
    """Names of the default baselines: all non-parallel racers, in their main compute type."""
    names = [entry.name for entry in in_main_type(entries) if entry.engine not in PARALLEL]
    return names if any(entry.engine in PARALLEL for entry in entries) else names[:1]


def check_baselines(names: Sequence[str], entries: Sequence[Entry]) -> None:
    """Raise `UserError` for a baseline that is not among the racers."""
    known = [entry.name for entry in entries]
    for name in names:
        if name not in known:
            raise UserError(f"there is no racer {name} to be a baseline; choose some of {', '.join(known)}.")


def ratios(heats: Sequence[Heat], racers: Sequence[RacerResult], baselines: Sequence[str]) -> tuple[Ratio, ...]:
    """Speed of parallel racers relative to every baseline, at each batch size and each at its best.

    If all parallel racers are baselines, all other racers are compared instead.
    """
    others = [racer for racer in racers if racer.entry.name not in baselines]
    compared = [racer for racer in others if racer.entry.engine in PARALLEL] or others
    all_ratios = []
    for racer in compared:
        name = racer.entry.name
        for baseline in (other for other in racers if other.entry.name in baselines):
            baseline_name = baseline.entry.name
            for size in racer.sizes:
                spread = _times_as_fast(heats, (name, size.batch_size), (baseline_name, size.batch_size))
                all_ratios += [Ratio(name, baseline_name, size.batch_size, spread)] if spread else []
            best, baseline_best = (name, racer.best.batch_size), (baseline_name, baseline.best.batch_size)
            spread = _times_as_fast(heats, best, baseline_best)
            all_ratios += [Ratio(name, baseline_name, None, spread)] if spread else []
    return tuple(all_ratios)


def _times_as_fast(heats: Sequence[Heat], racer: tuple[str, int], baseline: tuple[str, int]) -> Spread | None:
    """Speed ratio over the rounds that have a heat of both; each is given as name and batch size."""

    def by_round(key: tuple[str, int]) -> dict[int, float]:
        return {heat.round: heat.seconds_per_sentence for heat in heats if (heat.racer, heat.batch_size) == key}

    seconds, baseline_seconds = by_round(racer), by_round(baseline)
    ratios = [baseline_seconds[number] / seconds[number] for number in seconds if number in baseline_seconds]
    return Spread.of(ratios) if ratios else None


def cross_overs(heats: Sequence[Heat], racers: Sequence[RacerResult]) -> tuple[CrossOver, ...]:
    """Comparison of each parallel racer with greedy decoding in the same compute type."""
    names = [racer.entry.name for racer in racers]
    crossings = []
    for racer in racers:
        greedy = f"ar-b1-{racer.entry.compute_type}"
        if racer.entry.engine in PARALLEL and greedy in names:
            sizes = [size.batch_size for size in racer.sizes]
            spreads = {size: _times_as_fast(heats, (racer.entry.name, size), (greedy, size)) for size in sizes}
            times = {size: spread.median for size, spread in spreads.items() if spread}
            if times:  # an interrupted race may have no round with both
                crossings.append(_cross_over(racer.entry.name, greedy, times))
    return tuple(crossings)


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
    """Comparison in words for a racer without a cross-over."""
    faster = {times >= 1 for times in times_as_fast.values()}
    if len(faster) == 2:
        return "slower with small batches and faster with large ones"
    return f"{'faster' if True in faster else 'slower'} at every batch size raced"
