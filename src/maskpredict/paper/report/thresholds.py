"""Table of all claims with their thresholds and the reasons for these."""

from __future__ import annotations

from maskpredict.errors import UserError
from maskpredict.paper.report.claims import CLAIMS, Claim
from maskpredict.paper.report.published_numbers import DATA_SETS, paper_results
from maskpredict.paper.report.verdicts import amount
from maskpredict.paper.table import Column, ResultTable


def thresholds_table() -> ResultTable:
    """All claims: the number, its range in the paper, the two thresholds and their reason."""
    heads = ("the paper says", "number", "in the paper", "holds", "holds weaker", "why")
    return ResultTable(tuple(map(Column, heads)), tuple(_row(claim) for claim in CLAIMS))


def _row(claim: Claim) -> tuple[str, ...]:
    holds, weaker = (f"{claim.side} {amount(bound, claim.unit)}" for bound in (claim.holds, claim.weaker))
    return claim.says, claim.number, _paper_range(claim), holds, weaker, claim.why


def _paper_range(claim: Claim) -> str:
    """Least and greatest of the paper's numbers for its directions."""
    numbers = []
    for direction in DATA_SETS:
        try:
            results = {name: theirs.result for name, theirs in paper_results(*direction).items()}
            numbers.append(claim.measured(results)[1])
        except UserError:
            continue
    if not numbers:
        return "–"
    low, high = amount(min(numbers), claim.unit), amount(max(numbers), claim.unit)
    return low if low == high else f"{low.split()[0]} to {high}"
