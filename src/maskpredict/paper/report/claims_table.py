"""The list of claims with all that a reader needs to check them: numbers, interval, seeds, weights, command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from maskpredict.paper.finding import Finding, Setup
from maskpredict.paper.report.intervals import Kind
from maskpredict.paper.report.provenance import can_be_repeated, made, measured_with
from maskpredict.paper.report.verdicts import Judgement, Verdict, amount, range_text
from maskpredict.paper.table import Column, ResultTable


@dataclass(frozen=True)
class Origin:
    """A judgement, how its number was measured, and the command that measures it again."""

    judgement: Judgement
    setup: Setup | None = None
    """Setup of the analysis with the number; None if it was not measured."""
    command: str = ""


def origin_of(folder: Path, judgement: Judgement, findings: Mapping[str, Finding]) -> Origin:
    """The judgement with its origin; without one if its number was not measured."""
    finding = findings.get(judgement.claim.analysis)
    if finding is None or judgement.ours is None:
        return Origin(judgement)
    return Origin(judgement, finding.setup, command_of(folder, finding))


def tally(judgements: Iterable[Judgement]) -> str:
    """Sentence with the number of claims of each verdict."""
    counts = Counter(judgement.verdict for judgement in judgements)
    parts = [f"{verdict} {counts[verdict]}" for verdict in Verdict if counts[verdict]]
    return f"Of {counts.total()} claims: {', '.join(parts)}."


def claims_table(origins: Sequence[Origin]) -> ResultTable:
    """Claims with the paper's number, ours, its interval, the verdict, and how to measure it again."""
    heads = ("the paper says", "measured", "paper", "paper's data", "here", "interval", "seeds", "verdict")
    return ResultTable(tuple(map(Column, (*heads, "measured with", "made by"))), tuple(map(_claim_row, origins)))


def _claim_row(origin: Origin) -> tuple[str, ...]:
    judgement = origin.judgement
    claim, interval = judgement.claim, judgement.interval
    paper, ours = (
        "–" if number is None else amount(number, claim.unit) for number in (judgement.paper, judgement.ours)
    )
    allowed = range_text(interval, claim.unit) + ("*" if interval and interval.kind is Kind.sum else "")
    verdict = (str(judgement.seeds or "–"), str(judgement.verdict))
    says = (claim.says, claim.number, paper, judgement.data_set, ours, allowed)
    return *says, *verdict, measured_with(origin.setup) if origin.setup else "", origin.command


def command_of(folder: Path, finding: Finding) -> str:
    """The command that makes the results of an analysis again; for old results, that of their recipe."""
    command = finding.setup.command
    if not command and (recipe := made(folder).get("command")):
        return f"{recipe} --stage analyze"
    return f"{command} --only {finding.analysis.name}" if command.startswith("maskpredict analyze") else command


def deciding(origins: Sequence[Origin]) -> Origin:
    """The judgement of several results that counts: one with a paired interval if there is any, else with any interval.

    Among such, results of known weights come first, then those on more sentences.
    """
    return max(origins, key=_weight)


def _weight(origin: Origin) -> tuple[bool, int, bool, int]:
    interval, setup = origin.judgement.interval, origin.setup
    kinds = (Kind.sum, Kind.paired)
    certainty = kinds.index(interval.kind) + 1 if interval else 0
    known = setup is not None and can_be_repeated(setup)
    return origin.judgement.ours is not None, certainty, known, setup.sentences if setup else 0
