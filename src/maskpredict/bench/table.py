"""Results of a race as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskpredict.bench.machine import Machine
from maskpredict.bench.race_result import RaceResult
from maskpredict.bench.racer_result import RacerResult
from maskpredict.bench.timing import Spread


def markdown(result: RaceResult) -> str:
    """Markdown with times, ratios, cross-overs, notes and descriptions of the racers."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: RaceResult) -> Iterator[str]:
    workload, entries = result.workload, [racer.entry for racer in result.racers]
    rounds = max((heat.round for heat in result.heats), default=0)
    yield f"{describe(result.machine)}."
    yield ""
    yield (
        f"Sentences: {workload.sentences} of {workload.name}, with {workload.mean_subwords} subwords on average. "
        f"Rounds: {rounds}{', ended before its time' if result.interrupted else ''}. {result.timed}"
    )
    yield ""
    yield from _times(result)
    yield ""
    yield f"BLEU on {workload.scored} sentences: `{result.signature}`."
    yield from _ratios(result)
    for title, sentences in (
        ("Cross-over", [crossing.says for crossing in result.cross_overs]),
        ("The same translations", _same_texts(result.racers, workload.scored)),
        ("Notes", result.notes),
        ("Racers", [f"`{entry.name}`: {entry.what}, {entry.compute_type}." for entry in entries]),
    ):
        if sentences:
            yield ""
            yield f"**{title}**"
            yield ""
            yield from (f"- {sentence}" for sentence in sentences)


def describe(machine: Machine) -> str:
    """One line on a machine."""
    parts = [machine.cpu, f"{machine.cores} cores", f"{machine.memory_gb:g} GB", *machine.flags]
    parts += [machine.gpu] if machine.gpu else []
    versions = [f"{name} {version}" for name, version in machine.versions.items()]
    return ", ".join([*parts, f"threads: {machine.threads}", *versions])


def _times(result: RaceResult) -> Iterator[str]:
    sizes = sorted({size.batch_size for racer in result.racers for size in racer.sizes})
    together = [size for size in sizes if size > 1]
    heads = ["racer", "BLEU"]
    heads += ["ms a sentence, one by one", "95% within, ms"] if 1 in sizes else []
    heads += [f"sentences/s, batch {size}" for size in together] + ["best"]
    yield from table(heads, [_row(racer, together, single=1 in sizes) for racer in result.racers])


def _row(racer: RacerResult, sizes: Sequence[int], *, single: bool) -> list[str]:
    cells = [f"`{racer.entry.name}`", f"{racer.score.bleu:.1f}"]
    if single:
        alone = racer.at(1)
        cells.append(spread_text(alone.milliseconds) if alone else "")
        cells.append(_number(alone.p95_milliseconds) if alone and alone.p95_milliseconds else "")
    for size in map(racer.at, sizes):
        computed = f" ({size.computed_size})" if size and size.computed_size < size.batch_size else ""
        cells.append(_number(size.sentences_per_second) + computed if size else "")
    best = racer.best
    return [*cells, f"{_number(best.sentences_per_second)} at {best.computed_size}"]


def _ratios(result: RaceResult) -> Iterator[str]:
    """Table of speed ratios for each batch size."""
    baselines = list(dict.fromkeys(ratio.baseline for ratio in result.ratios))
    racers = list(dict.fromkeys(ratio.racer for ratio in result.ratios))
    for size in dict.fromkeys(ratio.batch_size for ratio in result.ratios):
        by_pair = {(ratio.racer, ratio.baseline): ratio for ratio in result.ratios if ratio.batch_size == size}
        rows = []
        for racer in racers:
            row = [by_pair.get((racer, baseline)) for baseline in baselines]
            rows.append([f"`{racer}`", *(spread_text(ratio.times_as_fast) if ratio else "" for ratio in row)])
        yield ""
        at = f"with batches of {size}" if size else "each with its best batch"
        yield f"Times as fast as, {at}:"
        yield ""
        yield from table(["racer", *(f"`{baseline}`" for baseline in baselines)], rows)


def _same_texts(racers: Sequence[RacerResult], scored: int) -> list[str]:
    return [
        f"`{racer.entry.name}` writes the same as `{racer.entry.same_as}` on {racer.score.same_texts:.1%} of {scored}."
        for racer in racers
        if racer.score.same_texts is not None
    ]


def spread_text(spread: Spread) -> str:
    """Median with quartiles, if there are several measurements."""
    if spread.low == spread.high:
        return _number(spread.median)
    return f"{_number(spread.median)} ({_number(spread.low)}–{_number(spread.high)})"


def _number(value: float) -> str:
    """Text of a number with three significant digits."""
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines of a table; all columns but the first are numbers."""
    yield f"| {' | '.join(heads)} |"
    yield f"|---|{'---:|' * (len(heads) - 1)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
