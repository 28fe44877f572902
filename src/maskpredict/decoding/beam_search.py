"""Beam search over an autoregressive model: the baseline, the teacher, and with one beam the greedy decoder.

Scores are log-probabilities divided by length^alpha. A sentence is finished when it has as many finished hypotheses as
beams. All sentences and beams advance together in a few vectorised operations per step; the model's incremental state
is hidden behind `step`. Shape letters: B sentences, K beams, T positions, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Advance = Callable[[Tensor, Tensor, int], Tensor]
"""(last tokens [B * K], the row each of them continues [B * K], time) -> float32 log-probabilities [B * K, V]."""


@dataclass
class Beams:
    """Hypotheses side by side; unused places score -inf."""

    scores_BK: Tensor
    tokens_BKT: Tensor
    log_probs_BKT: Tensor

    @classmethod
    def empty(cls, rows: int, beams: int, width: int, fill: int, device: torch.device) -> Beams:
        """Places for `beams` hypotheses per sentence, none of them taken."""
        return cls(
            torch.full((rows, beams), -math.inf, device=device),
            torch.full((rows, beams, width), fill, dtype=torch.long, device=device),
            torch.zeros((rows, beams, width), device=device),
        )

    def pick(self, index_BK: Tensor, scores_BK: Tensor) -> Beams:
        """The hypotheses at `index_BK`, with new scores."""
        deep = index_BK[:, :, None].expand(-1, -1, self.tokens_BKT.shape[2])
        return Beams(scores_BK, self.tokens_BKT.gather(1, deep), self.log_probs_BKT.gather(1, deep))

    def extended(self, time: int, tokens_BK: Tensor, log_probs_BK: Tensor) -> Beams:
        """The same hypotheses with a token written at `time`."""
        tokens_BKT, log_probs_BKT = self.tokens_BKT.clone(), self.log_probs_BKT.clone()
        tokens_BKT[:, :, time], log_probs_BKT[:, :, time] = tokens_BK, log_probs_BK
        return Beams(self.scores_BK, tokens_BKT, log_probs_BKT)


def beam_search(
    advance: Advance,
    rows: int,
    *,
    beams: int,
    limits_B: Tensor,
    bos: int,
    eos: int,
    length_penalty: float = 1.0,
) -> Beams:
    """The `beams` best finished hypotheses of each sentence, best first; `limits_B` is the longest length allowed."""
    device, width = limits_B.device, int(limits_B.max())
    alive = Beams.empty(rows, beams, width, eos, device)
    alive.scores_BK[:, 0] = 0.0  # all beams start alike: let only the first one count
    done = Beams.empty(rows, beams, width, eos, device)
    last_R = torch.full((rows * beams,), bos, dtype=torch.long, device=device)
    origin_R = torch.arange(rows * beams, device=device)
    for time in range(width):
        log_probs_BKV = advance(last_R, origin_R, time).view(rows, beams, -1)
        log_probs_BKV = _end_at_limit(log_probs_BKV, limits_B <= time + 1, eos)
        candidates, from_BK, tokens_BK = _best_continuations(alive, log_probs_BKV, time)
        ended_BK = tokens_BK == eos
        done = _merge(done, candidates, ended_BK, (time + 1) ** length_penalty)
        order = candidates.scores_BK.masked_fill(ended_BK, -math.inf).topk(beams, dim=1)
        alive = candidates.pick(order.indices, order.values)
        if bool((done.scores_BK[:, -1] > -math.inf).logical_or(limits_B <= time + 1).all()):
            break
        first_row_B1 = torch.arange(rows, device=device)[:, None] * beams
        origin_R = (from_BK.gather(1, order.indices) + first_row_B1).flatten()
        last_R = tokens_BK.gather(1, order.indices).flatten()
    return done


def _end_at_limit(log_probs_BKV: Tensor, full_B: Tensor, eos: int) -> Tensor:
    """Leave the end mark as the only continuation of sentences that are as long as they may be."""
    others_V = torch.arange(log_probs_BKV.shape[2], device=log_probs_BKV.device) != eos
    return log_probs_BKV.masked_fill(full_B[:, None, None] & others_V, -math.inf)


def _best_continuations(alive: Beams, log_probs_BKV: Tensor, time: int) -> tuple[Beams, Tensor, Tensor]:
    """The 2K best continuations of each sentence, the beam each came from, and its new token.

    Twice as many as there are beams, so that K are left if all the ended ones are taken out.
    """
    rows, beams, vocabulary = log_probs_BKV.shape
    totals = (alive.scores_BK[:, :, None] + log_probs_BKV).view(rows, -1)
    best = totals.topk(min(2 * beams, totals.shape[1]), dim=1)
    from_BK, tokens_BK = best.indices // vocabulary, best.indices % vocabulary
    own_BK = log_probs_BKV.reshape(rows, -1).gather(1, best.indices)
    return alive.pick(from_BK, best.values).extended(time, tokens_BK, own_BK), from_BK, tokens_BK


def _merge(done: Beams, candidates: Beams, ended_BK: Tensor, norm: float) -> Beams:
    """The K best of the finished hypotheses and those that end now; an end outside the first K does not count."""
    beams = done.scores_BK.shape[1]
    ranked_low = torch.arange(ended_BK.shape[1], device=ended_BK.device) >= beams
    full_B1 = done.scores_BK[:, -1:] > -math.inf  # the sentence is finished: nothing is added any more
    scores = (candidates.scores_BK / norm).masked_fill(~ended_BK | ranked_low | full_B1, -math.inf)
    both = Beams(
        torch.cat([done.scores_BK, scores], 1),
        torch.cat([done.tokens_BKT, candidates.tokens_BKT], 1),
        torch.cat([done.log_probs_BKT, candidates.log_probs_BKT], 1),
    )
    best = both.scores_BK.sort(dim=1, descending=True, stable=True)
    return both.pick(best.indices[:, :beams], best.values[:, :beams])
