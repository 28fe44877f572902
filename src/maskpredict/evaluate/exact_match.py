"""Exact match against a set of valid translations."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from maskpredict.errors import UserError


def exact_match(outputs: Sequence[str], references: Sequence[Collection[str]]) -> float:
    """Share of outputs, 0 to 1, that are among the valid translations of their sentence."""
    if len(outputs) != len(references):
        raise UserError(
            f"there are {len(outputs)} translations and references for {len(references)}; give them for each."
        )
    if not outputs:
        raise UserError("there is nothing to compare: no translation was given.")
    right = sum(output in valid for output, valid in zip(outputs, references, strict=True))
    return right / len(outputs)
