"""Verdicts on the paper's claims, from intervals and thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from maskpredict.errors import UserError
from maskpredict.evaluate.sentence_counts import Counts
from maskpredict.paper.report.claims import CLAIMS, Claim, Side
from maskpredict.paper.report.intervals import Interval, interval_of
from maskpredict.paper.report.published_numbers import PaperResult

ROUNDING = 1e-9
"""Tolerance, since differences of decimal numbers are not exact."""
NO_COUNTS: Mapping[str, Counts] = {}


class Verdict(StrEnum):
    """Outcome of the check of a claim."""

    holds = "holds"
    weaker = "holds weaker"
    undecided = "undecided"
    fails = "does not hold"
    no_interval = "no interval"
    unknown = "not measured"


@dataclass(frozen=True)
class Judgement:
    """A claim, the numbers and the verdict."""

    claim: Claim
    verdict: Verdict
    ours: float | None
    paper: float | None
    data_set: str
    """Data set of the paper's number."""
    reason: str = ""
    """Reason why it was not measured."""
    interval: Interval | None = None
    others: tuple[Judgement, ...] = field(default=())
    """Judgements on the models of other seeds, which `verdict` takes into account."""

    @property
    def seeds(self) -> int:
        """Number of seeds whose models were measured."""
        return (self.ours is not None) + sum(other.ours is not None for other in self.others)

    @property
    def sentence(self) -> str:
        """The verdict with its numbers and thresholds, as a sentence."""
        claim = self.claim
        if self.ours is None:
            return f"Not measured: {self.reason}"
        wanted = f"{claim.side} {amount(claim.holds, claim.unit)} is asked"
        if self.verdict is not Verdict.holds:
            wanted += f", {amount(claim.weaker, claim.unit)} for holding weaker"
        theirs = "the paper gives no number" if self.paper is None else f"{amount(self.paper, claim.unit)} in the paper"
        here = amount(self.ours, claim.unit)
        here += f" here, {range_text(self.interval, claim.unit)}" if self.interval else " here"
        others = "".join(
            f"; {amount(other.ours, claim.unit)} with another seed" for other in self.others if other.ours is not None
        )
        opposite = self.interval is not None and self.interval.high < 0 and claim.opposite
        return f"{self.verdict.capitalize()}: {here}, {theirs}; {wanted}{others}." + (
            f" {opposite}" if opposite else ""
        )


def judge(
    claim: Claim,
    results: Mapping[str, Any],
    paper: Mapping[str, PaperResult],
    counts: Mapping[str, Counts] = NO_COUNTS,
) -> Judgement:
    """Measure a claim on our result and on the paper's numbers, and compare our interval with the thresholds."""
    paper_number, data_set = _paper_number(claim, paper)
    try:
        analysis, ours = claim.measured(results)
    except UserError as error:
        return Judgement(claim, Verdict.unknown, None, paper_number, data_set, str(error))
    used = claim.on(analysis)
    interval = interval_of(used, results[analysis], counts)
    outcome = verdict(used, interval) if interval else Verdict.no_interval
    return Judgement(used, outcome, ours, paper_number, data_set, interval=interval)


def verdict(claim: Claim, interval: Interval) -> Verdict:
    """Verdict on a claim: the whole interval must be on the right side of a threshold."""
    if _inside(claim, interval, claim.holds):
        return Verdict.holds
    if _inside(claim, interval, claim.weaker):
        return Verdict.weaker
    return Verdict.fails if _outside(claim, interval, claim.weaker) else Verdict.undecided


def _inside(claim: Claim, interval: Interval, threshold: float) -> bool:
    enough = interval.low >= threshold - ROUNDING
    little = interval.high <= threshold + ROUNDING
    match claim.side:
        case Side.at_least:
            return enough
        case Side.at_most:
            return little
        case Side.within:
            return little and interval.low >= -threshold - ROUNDING


def _outside(claim: Claim, interval: Interval, threshold: float) -> bool:
    match claim.side:
        case Side.at_least:
            return interval.high < threshold
        case Side.at_most:
            return interval.low > threshold
        case Side.within:
            return interval.low > threshold or interval.high < -threshold


def judge_all(
    results: Mapping[str, Any], paper: Mapping[str, PaperResult], counts: Mapping[str, Counts] = NO_COUNTS
) -> list[Judgement]:
    """Judgements on all claims."""
    return [judge(claim, results, paper, counts) for claim in CLAIMS]


def over_seeds(first: Judgement, others: Sequence[Judgement]) -> Judgement:
    """The judgement on a claim after those on models of other seeds: seeds that disagree leave it undecided."""
    measured = tuple(other for other in others if other.ours is not None)
    verdicts = {judgement.verdict for judgement in (first, *measured)}
    if len(verdicts) > 1:
        agreed = Verdict.weaker if verdicts == {Verdict.holds, Verdict.weaker} else Verdict.undecided
        return replace(first, verdict=agreed, others=measured)
    return replace(first, others=measured)


def amount(number: float, unit: str) -> str:
    """Text of a number with its unit."""
    if unit == "×":
        return f"{number:.2f}×"
    return f"{number:.1f}%" if unit == "%" else f"{number:.2f} {unit}"


def range_text(interval: Interval | None, unit: str) -> str:
    """Text of an interval; a dash if there is none."""
    if interval is None:
        return "–"
    decimals = 1 if unit == "%" else 2
    return f"{interval.low:.{decimals}f} to {interval.high:.{decimals}f}"


def _paper_number(claim: Claim, paper: Mapping[str, PaperResult]) -> tuple[float | None, str]:
    """The paper's number, None if it has none, and its data set."""
    try:
        analysis, number = claim.measured({name: theirs.result for name, theirs in paper.items()})
        return number, paper[analysis].data_set
    except UserError:
        return None, paper[claim.instead.analysis if claim.instead else claim.analysis].data_set
