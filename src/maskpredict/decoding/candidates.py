"""Length candidates: the target lengths to try, and the ranking of finished candidates (section 3.3 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from maskpredict.decoding.hypothesis import Hypothesis
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.decoding.trace import CandidateTrace, Pass, Trace

SHORTEST = 2
"""Shortest target: a token and the end mark."""


def candidate_lengths(log_probs_BL: npt.NDArray[np.float32], count: int, longest: int) -> list[list[int]]:
    """Return the `count` likeliest lengths of each sentence, likeliest first.

    Lengths are clipped to [2, longest] and duplicates dropped, so there may be fewer than `count`.
    """
    # A stable sort gives equally likely lengths the same order on every machine.
    order_BL = np.argsort(-log_probs_BL, axis=1, kind="stable")[:, :count]
    return [list(dict.fromkeys(row)) for row in np.clip(order_BL, SHORTEST, longest).tolist()]


def likely_lengths(
    log_probs_BL: npt.NDArray[np.float32], lengths: list[list[int]], threshold: float | None
) -> list[list[int]]:
    """Return each sentence's candidate lengths that are likely enough."""
    if threshold is None:
        return lengths
    return [
        candidates[: likely_count(log_probs_L[candidates].tolist(), threshold)]
        for candidates, log_probs_L in zip(lengths, log_probs_BL, strict=True)
    ]


def likely_count(log_probs_C: Sequence[float], threshold: float | None) -> int:
    """Return how many of the candidates, likeliest first, are at least `threshold` times as likely as the first.

    An unlikely length sometimes gives a confident but incomplete translation.
    """
    if threshold is None:
        return len(log_probs_C)
    return sum(log_prob >= log_probs_C[0] + math.log(threshold) for log_prob in log_probs_C)


@dataclass(frozen=True)
class CompletedDraft:
    """A draft after its last pass."""

    ids: list[int]
    log_probs: list[float]
    score: float
    """Mean log-probability of the positions that were not pinned."""
    passes: int
    history: list[Pass]
    """Every pass, with the setting `trace`."""
    ranks_last: bool = False
    """True for a candidate that ranks behind all others: pruned, or of an unlikely length."""
    length_log_prob: float = 0.0
    """Log-probability of its length, up to a constant that the candidates of a sentence share."""


def less_confident(scores: Sequence[float], owner: Sequence[int], kept: int) -> set[int]:
    """Return the drafts that are not among the `kept` best of their sentence; on a tie the earlier one is better."""
    by_sentence: dict[int, list[int]] = {}
    for draft in sorted(range(len(scores)), key=lambda draft: -scores[draft]):
        by_sentence.setdefault(owner[draft], []).append(draft)
    return {draft for drafts in by_sentence.values() for draft in drafts[kept:]}


def ranked(rows: list[CompletedDraft], settings: MaskPredictSettings) -> list[Hypothesis]:
    """Return a sentence's candidates as hypotheses, best first; on a tie the earlier candidate is better."""

    def rank_key(row: CompletedDraft) -> tuple[bool, float]:
        return not row.ranks_last, row.score + settings.length_weight * row.length_log_prob

    order = sorted(range(len(rows)), key=lambda index: rank_key(rows[index]), reverse=True)
    lengths = tuple(len(row.ids) for row in rows)
    candidates = [CandidateTrace(len(row.ids), row.score, row.history) for row in rows] if settings.trace else []
    return [
        Hypothesis(
            rows[index].ids,
            rows[index].log_probs,
            rows[index].score,
            rows[index].passes,
            lengths,
            Trace(candidates, index) if settings.trace else None,
        )
        for index in order[: settings.num_hypotheses]
    ]
