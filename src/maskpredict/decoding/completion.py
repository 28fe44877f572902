"""Completion of drafts: all passes over them, on the engine that encoded their sources.

The engine groups the drafts that it computes together, of any sentences; a sentence's length candidates share its
encoded source. Shape letters: B rows (drafts), T positions, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import TypeVar

from maskpredict.decoding.arrays import Array, array_namespace, device
from maskpredict.decoding.candidates import CompletedDraft, less_confident
from maskpredict.decoding.engine import Encoded, Query
from maskpredict.decoding.mask_predict import Decoded, Rules, one_pass, passes_from, undecoded
from maskpredict.decoding.pausing import pause
from maskpredict.decoding.settings import AlignmentSettings, MaskPredictSettings
from maskpredict.decoding.strategies import STRATEGIES
from maskpredict.decoding.trace import Pass
from maskpredict.special_ids import SpecialIds

T = TypeVar("T")


@dataclass(frozen=True)
class DraftCompleter:
    """Runs the passes over drafts of the targets of `encoded`."""

    encoded: Encoded
    special: SpecialIds
    settings: MaskPredictSettings | AlignmentSettings
    blank: int | None = None
    """Id of the blank, if the drafts are alignments."""

    def complete(
        self, drafts: Sequence[Sequence[int]], owner: Sequence[int], given: Sequence[Sequence[int]] | None = None
    ) -> list[CompletedDraft]:
        """Complete drafts; `owner` is the sentence of each.

        With `given`, return those tokens and the probability of each when its position was last predicted.
        """
        rows_of_groups = self.encoded.groups([len(draft) for draft in drafts])
        groups = [
            _Group(
                self,
                [drafts[row] for row in rows],
                [owner[row] for row in rows],
                None if given is None else [given[row] for row in rows],
            )
            for rows in rows_of_groups
        ]
        if self.settings.prune_candidates is not None:
            scores = _in_order(rows_of_groups, [group.run_first_pass() for group in groups])
            pruned = less_confident(scores, owner, self.settings.prune_candidates)
            for group, rows in zip(groups, rows_of_groups, strict=True):
                group.prune([row in pruned for row in rows])
        return _in_order(rows_of_groups, [group.run_other_passes() for group in groups])

    def first_pass(self, draft: Sequence[int], sentence: int) -> Array:
        """Return log-probabilities [T, V] of every token at every position of a draft, as the first pass sees it."""
        passes = self.encoded.passes([sentence], [len(draft)])
        return passes.log_probs(passes.array([draft], self.special.pad), Query(self.settings.suppress_tokens))


class _Group:
    """Drafts that are decoded together, and their state."""

    def __init__(
        self,
        completer: DraftCompleter,
        drafts: Sequence[Sequence[int]],
        owner: Sequence[int],
        given: Sequence[Sequence[int]] | None,
    ) -> None:
        self.settings, self.lengths = completer.settings, [len(draft) for draft in drafts]
        special, plan = completer.special, STRATEGIES[completer.settings.strategy]
        self.passes = completer.encoded.passes(owner, self.lengths)
        draft_BT = self.passes.array(drafts, special.pad)
        self.xp = xp = array_namespace(draft_BT)
        lengths_B = xp.asarray(self.lengths, device=device(draft_BT))
        valid_BT = xp.arange(draft_BT.shape[1], device=device(draft_BT))[None, :] < lengths_B[:, None]
        free_BT = (draft_BT == special.mask) & valid_BT
        given_BT = None if given is None else self.passes.array(given, special.pad)
        no_end_BT = _before_pins(valid_BT & ~free_BT)
        self.query = Query(self.settings.suppress_tokens, no_end_BT, given_BT, shortlist=self.settings.shortlist)
        self.decoded = undecoded(draft_BT, free_BT)
        self.given_log_probs_BT = self.decoded.log_probs_BT
        passes_B = plan.count(xp.sum(xp.astype(free_BT, xp.int64), axis=1), self.settings.iterations)
        self.rules = Rules(
            free_BT,
            passes_B,
            special.mask,
            plan.strategy,
            plan.hide,
            self.settings.stop_when_stable,
            self.settings.threshold,
            completer.blank,
            self.settings.seed,
        )
        self.pruned = [False] * len(drafts)
        self.history: list[Decoded] = []

    def run_first_pass(self) -> list[float]:
        """Run the first pass, and return the scores after it."""
        if self.xp.any(self.rules.free_BT):
            self.decoded = one_pass(self._predict, self.decoded, self.rules.free_BT, self.rules)
            self._watch(self.decoded)
        return self._scores(self.decoded.log_probs_BT)

    def prune(self, pruned: list[bool]) -> None:
        """Run no further passes over these drafts."""
        self.pruned = pruned
        pruned_B = self.xp.asarray(pruned, device=device(self.rules.passes_B))
        self.rules = replace(self.rules, passes_B=self.xp.where(pruned_B, 1, self.rules.passes_B))

    def run_other_passes(self) -> list[CompletedDraft]:
        """Run the remaining passes."""
        first = 0 if self.settings.prune_candidates is None else 1
        result = passes_from(first, self._predict, self.decoded, self.rules, self._watch)
        tokens_BT, log_probs_BT = result.tokens_BT, result.log_probs_BT
        if self.query.given_BT is not None:
            tokens_BT, log_probs_BT = self.query.given_BT, self.given_log_probs_BT
        scores, passes = self._scores(log_probs_BT), result.passes_B.tolist()
        tokens, log_probs = tokens_BT.tolist(), log_probs_BT.tolist()
        steps = [
            (decoded.masked_BT.tolist(), decoded.tokens_BT.tolist(), self.xp.exp(decoded.log_probs_BT).tolist())
            for decoded in self.history
        ]
        return [
            CompletedDraft(
                tokens[row][:length],
                log_probs[row][:length],
                scores[row],
                passes[row],
                [Pass(m[row][:length], t[row][:length], p[row][:length]) for m, t, p in steps[: passes[row]]],
                self.pruned[row],
            )
            for row, length in enumerate(self.lengths)
        ]

    def _predict(self, tokens_BT: Array, masked_BT: Array) -> tuple[Array, Array]:
        pause()
        prediction = self.passes.predict(tokens_BT, masked_BT, self.query)
        if prediction.given_log_probs_BT is not None:
            self.given_log_probs_BT = self.xp.where(masked_BT, prediction.given_log_probs_BT, self.given_log_probs_BT)
        return prediction.tokens_BT, prediction.log_probs_BT

    def _watch(self, decoded: Decoded) -> None:
        if self.settings.trace:
            self.history.append(decoded)

    def _scores(self, log_probs_BT: Array) -> list[float]:
        """Return the mean log-probability of each draft's free positions, summed exactly whatever the padding."""
        pairs = zip(log_probs_BT.tolist(), self.rules.free_BT.tolist(), strict=True)
        return [math.fsum(compress(log_probs, free)) / max(1, sum(free)) for log_probs, free in pairs]


def _before_pins(pinned_BT: Array) -> Array | None:
    """Return True before pinned words, where an end mark would cut them off; None if nothing is pinned."""
    xp = array_namespace(pinned_BT)
    if not xp.any(pinned_BT):
        return None
    counted_BT = xp.astype(xp.flip(pinned_BT, axis=1), xp.int64)
    return xp.flip(xp.cumulative_sum(counted_BT, axis=1), axis=1) > 0


def _in_order(rows_of_groups: list[list[int]], results: list[list[T]]) -> list[T]:
    """Return the groups' results in the order of all rows."""
    by_row = {
        row: result
        for rows, group_results in zip(rows_of_groups, results, strict=True)
        for row, result in zip(rows, group_results, strict=True)
    }
    return [by_row[row] for row in range(len(by_row))]
