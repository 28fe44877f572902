"""From drafts to finished targets: mask-predict with a transformer behind it.

Drafts of one padded width are decoded together, whichever sentence they belong to; a sentence's length candidates share
what the encoder made of it. Shape letters: B rows (drafts), T positions, D width, M masked positions, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import TypeVar

import torch
from torch import Tensor

from maskpredict.decoding.best_tokens import Predicted, predicted
from maskpredict.decoding.candidates import Finished, less_confident
from maskpredict.decoding.mask_predict import Decoded, mask_predict
from maskpredict.decoding.onnxruntime_drafts import finish_each, plain_mask_predict
from maskpredict.decoding.onnxruntime_passes import EncodedApart
from maskpredict.decoding.passes import Encoded, passes_over
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.decoding.strategies import STRATEGIES
from maskpredict.decoding.trace import Pass
from maskpredict.model.batch import Tokens, pad, round_up
from maskpredict.model.layout import Padded
from maskpredict.model.transformer import Transformer
from maskpredict.tokenizer import SpecialIds

T = TypeVar("T")

ENOUGH_FOR_A_GPU = 16_384
"""Positions that take a GPU longer to compute than Python to launch what computes them."""


@dataclass(frozen=True)
class Finisher:
    """Completes drafts of the sentences in `encoded`."""

    transformer: Transformer
    encoded: Encoded | EncodedApart
    special: SpecialIds
    settings: MaskPredictSettings
    at_least: int = 0
    """Drafts of several widths are decoded together until they have so many positions."""

    def finish(
        self, drafts: list[list[int]], owner: list[int], given: Sequence[Sequence[int]] | None = None
    ) -> list[Finished]:
        """Complete drafts, each of the sentence `owner` names.

        With `given`, the result is those tokens and the probability each had when its position was last predicted.
        """
        nothing_imposed = given is None and set(chain(*drafts)) == {self.special.mask}
        if isinstance(self.encoded, EncodedApart) and nothing_imposed and plain_mask_predict(self.settings):
            return finish_each(self.encoded, drafts, owner, self.settings)
        rows_of_groups = self._groups(drafts)
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
            scores = _in_order(rows_of_groups, [group.make_first_pass() for group in groups])
            pruned = less_confident(scores, owner, self.settings.prune_candidates)
            for group, rows in zip(groups, rows_of_groups, strict=True):
                group.leave_behind([row in pruned for row in rows])
        return _in_order(rows_of_groups, [group.finish() for group in groups])

    def _groups(self, drafts: list[list[int]]) -> list[list[int]]:
        """Which drafts are decoded together: any where each is computed alone, else those of one padded width, or of
        `at_least` so many positions, the widest first."""
        if self.transformer.sentence_by_sentence:
            return [list(range(len(drafts)))]
        widths = [round_up(len(draft)) for draft in drafts]
        groups: list[list[int]] = []
        for width in sorted(set(widths), reverse=True):
            own = [row for row, other in enumerate(widths) if other == width]
            if groups and len(groups[-1]) * widths[groups[-1][0]] < self.at_least:
                groups[-1] += own
            else:
                groups.append(own)
        return groups

    def first_guess(self, draft: list[int], sentence: int) -> Tensor:
        """Log-probabilities [T, V] of every token at every position of a draft as it stands."""
        tokens = self.pad([draft])
        assert isinstance(tokens.layout, Padded)
        passes = passes_over(self.transformer, self.encoded, [sentence], tokens.layout)
        logits = passes.logits(tokens.ids, tokens.layout.valid, self.settings.suppress_tokens)
        return torch.cat(list(logits)).float().log_softmax(-1)

    def pad(self, rows: Sequence[Sequence[int]]) -> Tokens:
        """Rows of ids as a tensor, where the transformer is."""
        return pad(rows, self.special.pad, self.transformer.target.tokens.weight.device)


class _Group:
    """Drafts that are decoded together, and how far they are."""

    def __init__(
        self, finisher: Finisher, drafts: list[list[int]], owner: list[int], given: list[Sequence[int]] | None
    ) -> None:
        self.finisher, self.lengths = finisher, list(map(len, drafts))
        tokens = finisher.pad(drafts)
        assert isinstance(tokens.layout, Padded)
        valid_BT = tokens.layout.valid
        self.drafts_BT = tokens.ids
        self.passes = passes_over(finisher.transformer, finisher.encoded, owner, tokens.layout)
        self.free_BT = (tokens.ids == finisher.special.mask) & valid_BT
        # An end mark in front of given words would cut them off.
        self.before_given_BT = (valid_BT & ~self.free_BT).flip(1).cumsum(1).flip(1) > 0
        self.has_given = bool(self.before_given_BT.any())
        self.given_BT = None if given is None else finisher.pad(given).ids
        self.given_log_probs_BT = torch.zeros(tokens.ids.shape, device=tokens.ids.device)
        self.plan = STRATEGIES[finisher.settings.strategy]
        self.passes_B = self.plan.count(self.free_BT.sum(1), finisher.settings.iterations)
        self.pruned = [False] * len(drafts)
        self.first_pass: Decoded | None = None
        self.history: list[tuple[Tensor, Decoded]] = []

    def make_first_pass(self) -> list[float]:
        """Scores after the first pass; `finish` makes the others."""
        self.first_pass = self._run(torch.ones_like(self.passes_B))
        return self._scores(self.first_pass.log_probs_BT)

    def leave_behind(self, pruned: list[bool]) -> None:
        """Make no further pass over these drafts."""
        self.pruned = pruned
        self.passes_B = self.passes_B.masked_fill(torch.tensor(pruned, device=self.passes_B.device), 1)

    def finish(self) -> list[Finished]:
        """Make all passes that are left."""
        result = self._run(self.passes_B)
        if self.given_BT is not None:
            result = Decoded(self.given_BT, self.given_log_probs_BT, result.passes_B)
        scores, passes = self._scores(result.log_probs_BT), result.passes_B.tolist()
        tokens, log_probs = result.tokens_BT.tolist(), result.log_probs_BT.tolist()
        steps = [(m.tolist(), d.tokens_BT.tolist(), d.log_probs_BT.exp().tolist()) for m, d in self.history]
        return [
            Finished(
                tokens[row][:length],
                log_probs[row][:length],
                scores[row],
                passes[row],
                [Pass(m[row][:length], t[row][:length], p[row][:length]) for m, t, p in steps[: passes[row]]],
                self.pruned[row],
            )
            for row, length in enumerate(self.lengths)
        ]

    def _run(self, passes_B: Tensor) -> Decoded:
        settings = self.finisher.settings
        return mask_predict(
            self._predict,
            self.drafts_BT,
            self.free_BT,
            passes_B,
            self.finisher.special.mask,
            strategy=self.plan.strategy,
            hide=self.plan.hide,
            stop_when_stable=settings.stop_when_stable,
            threshold=settings.threshold,
            first_pass=self.first_pass,
            watch=(lambda masked_BT, decoded: self.history.append((masked_BT, decoded))) if settings.trace else None,
        )

    def _predict(self, inputs_BT: Tensor, masked_BT: Tensor) -> tuple[Tensor, Tensor]:
        tokens_BT, log_probs_BT = inputs_BT.clone(), torch.zeros_like(self.given_log_probs_BT)
        places_M = masked_BT.flatten().nonzero()[:, 0]
        if not len(places_M):  # everything is given
            return tokens_BT, log_probs_BT
        found = self._predicted(inputs_BT, masked_BT, places_M)
        if found.given_log_probs_M is not None:
            self.given_log_probs_BT.put_(places_M, found.given_log_probs_M)
        return tokens_BT.put_(places_M, found.tokens_M), log_probs_BT.put_(places_M, found.log_probs_M)

    def _predicted(self, inputs_BT: Tensor, masked_BT: Tensor, places_M: Tensor) -> Predicted:
        suppressed = self.finisher.settings.suppress_tokens
        if not self.has_given:
            return self.passes.predict(inputs_BT, masked_BT, suppressed, self.given_BT)
        logits = self._without_early_ends(self.passes.logits(inputs_BT, masked_BT, suppressed), places_M)
        return predicted(logits, None if self.given_BT is None else self.given_BT.take(places_M))

    def _without_early_ends(self, logits: Iterable[Tensor], places_M: Tensor) -> Iterator[Tensor]:
        """Logits with the end mark made impossible in front of given words."""
        early_M, done = self.before_given_BT.take(places_M), 0
        for logits_RV in logits:
            logits_RV[early_M[done : done + len(logits_RV)], self.finisher.special.eos] = float("-inf")
            done += len(logits_RV)
            yield logits_RV

    def _scores(self, log_probs_BT: Tensor) -> list[float]:
        """Mean log-probability of each draft; given positions do not enter it. Its rounding ignores the padding."""
        pairs = zip(log_probs_BT.tolist(), self.free_BT.tolist(), strict=True)
        return [math.fsum(compress(log_probs, free)) / max(1, sum(free)) for log_probs, free in pairs]


def _in_order(rows_of_groups: list[list[int]], results: list[list[T]]) -> list[T]:
    """What each group found for its rows, in the order of all rows."""
    found = dict(zip(chain(*rows_of_groups), chain(*results), strict=True))
    return [found[row] for row in range(len(found))]
