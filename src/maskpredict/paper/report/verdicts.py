"""Verdicts on the paper's claims, from their thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from maskpredict.errors import UserError
from maskpredict.paper.report.claims import CLAIMS, Claim
from maskpredict.paper.report.published_numbers import PaperResult

ROUNDING = 1e-9
"""Tolerance, since differences of decimal numbers are not exact."""


class Verdict(StrEnum):
    """Outcome of the check of a claim."""

    holds = "holds"
    weaker = "holds weaker"
    fails = "does not hold"
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

    @property
    def sentence(self) -> str:
        """The verdict with its numbers and thresholds, as a sentence."""
        claim = self.claim
        if self.ours is None:
            return f"Not measured: {self.reason}"
        wanted = f"at {'most' if claim.at_most else 'least'} {amount(claim.holds, claim.unit)} is asked"
        if self.verdict is not Verdict.holds:
            wanted += f", {amount(claim.weaker, claim.unit)} for holding weaker"
        theirs = "the paper gives no number" if self.paper is None else f"{amount(self.paper, claim.unit)} in the paper"
        return f"{self.verdict.capitalize()}: {amount(self.ours, claim.unit)} here, {theirs}; {wanted}."


def judge(claim: Claim, results: Mapping[str, Any], paper: Mapping[str, PaperResult]) -> Judgement:
    """Measure a claim on our result and on the paper's numbers, and compare ours with the thresholds."""
    theirs = paper[claim.analysis]
    paper_number = _paper_number(claim, theirs)
    try:
        if claim.analysis not in results:
            raise UserError(f"the analysis {claim.analysis} was not run.")
        ours = claim.measure(results[claim.analysis])
    except UserError as error:
        return Judgement(claim, Verdict.unknown, None, paper_number, theirs.data_set, str(error))
    return Judgement(claim, verdict(claim, ours), ours, paper_number, theirs.data_set)


def verdict(claim: Claim, number: float) -> Verdict:
    """Verdict on a claim for a measured number."""
    sign = -1 if claim.at_most else 1
    if sign * number >= sign * claim.holds - ROUNDING:
        return Verdict.holds
    return Verdict.weaker if sign * number >= sign * claim.weaker - ROUNDING else Verdict.fails


def judge_all(results: Mapping[str, Any], paper: Mapping[str, PaperResult]) -> list[Judgement]:
    """Judgements on all claims."""
    return [judge(claim, results, paper) for claim in CLAIMS]


def amount(number: float, unit: str) -> str:
    """Text of a number with its unit."""
    if unit == "×":
        return f"{number:.2f}×"
    return f"{number:.1f}%" if unit == "%" else f"{number:.2f} {unit}"


def _paper_number(claim: Claim, theirs: PaperResult) -> float | None:
    try:
        return claim.measure(theirs.result)
    except UserError:
        return None
