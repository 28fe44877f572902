"""Beam search over an autoregressive model: the baseline, the teacher, and with one beam the greedy decoder.

Scores are log-probabilities divided by length^alpha. A sentence is finished when it has as many finished hypotheses as
beams. All sentences and beams advance together in a few vectorised operations per step, finished sentences leave the
batch, and the model's incremental state is hidden behind `advance`. Shape letters: B sentences, K beams, C candidates,
T positions, V vocabulary, R = B * K rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from maskpredict.decoding.settings import BeamSettings
from maskpredict.model.best_tokens import best_tokens
from maskpredict.model.padding import ROWS, round_up

Advance = Callable[[Tensor, Tensor | None, int], Tensor]
"""(last tokens [R], the row of the previous step that each continues [R] or None for the same rows, time) -> logits
[R, V]. Rows become fewer when finished sentences leave; a sentence's beams always stand side by side."""

LEAVE_EVERY = 4
"""Steps between two looks at whether enough sentences are finished to be worth leaving behind."""


@dataclass(frozen=True)
class SearchShape:
    """The sizes of a search; searches of one shape and the same settings make the same steps."""

    sentences: int
    source_width: int
    width: int
    """Longest target of a source that wide."""
    settings: BeamSettings

    @property
    def beams(self) -> int:
        """Hypotheses of each sentence."""
        return self.settings.beam_size


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

    def pick(self, index_BC: Tensor, scores_BC: Tensor) -> Beams:
        """The hypotheses at `index_BC`, with new scores."""
        deep = index_BC[:, :, None].expand(-1, -1, self.tokens_BKT.shape[2])
        return Beams(scores_BC, self.tokens_BKT.gather(1, deep), self.log_probs_BKT.gather(1, deep))

    def select(self, sentences: Tensor) -> Beams:
        """The hypotheses of some sentences."""
        return Beams(self.scores_BK[sentences], self.tokens_BKT[sentences], self.log_probs_BKT[sentences])

    def replace(self, sentences: Tensor, others: Beams) -> None:
        """Write the hypotheses of some sentences over what was there."""
        self.scores_BK[sentences] = others.scores_BK
        self.tokens_BKT[sentences] = others.tokens_BKT
        self.log_probs_BKT[sentences] = others.log_probs_BKT


def beam_search(search: Search) -> Beams:
    """Run a search to its end; returns the best finished hypotheses of each sentence, best first."""
    rows, beams, width = search.done.tokens_BKT.shape
    device = search.limits_B.device
    result = Beams.empty(rows, beams, width, search.eos, device)
    here_B = torch.arange(rows, device=device)  # the sentences that are still in the batch
    for time in range(width):
        search.step(time)
        looking = time % LEAVE_EVERY == LEAVE_EVERY - 1
        if (looking or device.type == "cpu") and bool(search.finished_B.all()):  # a GPU would wait for each look
            break
        if looking and (stay := _unfinished(search.finished_B)) is not None:
            result.replace(here_B, search.done)
            here_B = here_B[stay]
            search.go_on_with(stay)
    result.replace(here_B, search.done)
    return result


class Search:
    """A beam search in progress: all its state is tensors, and a step does not wait for any of their values.

    `rows` sentences with `beams` hypotheses each, whose lengths are limited by `limits_B`, and that by `width`.
    """

    def __init__(
        self,
        advance: Advance,
        rows: int,
        width: int,
        *,
        beams: int,
        limits_B: Tensor,
        bos: int,
        eos: int,
        length_penalty: float = 1.0,
    ) -> None:
        device = limits_B.device
        self.advance, self.beams, self.limits_B, self.eos = advance, beams, limits_B, eos
        self.length_penalty = length_penalty
        self.alive, self.done = (Beams.empty(rows, beams, width, eos, device) for _ in range(2))
        self.alive.scores_BK[:, 0] = 0.0  # all beams start alike: let only the first one count
        self.finished_B = torch.zeros(rows, dtype=torch.bool, device=device)
        self.last_R = torch.full((rows * beams,), bos, dtype=torch.long, device=device)
        self.origin_R: Tensor | None = None

    def step(self, time: int) -> None:
        """Extend every hypothesis by one token."""
        logits_RV = self.advance(self.last_R, self.origin_R, time)
        at_limit_B = self.limits_B <= time + 1
        candidates, from_BC = _best_continuations(self.alive, logits_RV, at_limit_B, time, self.eos)
        ended_BC = candidates.tokens_BKT[:, :, time] == self.eos
        self.done = _merge(self.done, candidates, ended_BC, (time + 1) ** self.length_penalty)
        best = candidates.scores_BK.masked_fill(ended_BC, -math.inf).topk(self.beams, dim=1)
        self.alive = candidates.pick(best.indices, best.values)
        self.finished_B = (self.done.scores_BK[:, -1] > -math.inf) | at_limit_B
        self.last_R = self.alive.tokens_BKT[:, :, time].flatten()
        first_row_B1 = torch.arange(len(self.limits_B), device=self.last_R.device)[:, None] * self.beams
        self.origin_R = (first_row_B1 + from_BC.gather(1, best.indices)).flatten() if self.beams > 1 else None

    def go_on_with(self, stay_B: Tensor) -> None:
        """Leave all other sentences behind."""
        rows_R = (stay_B[:, None] * self.beams + torch.arange(self.beams, device=stay_B.device)).flatten()
        self.origin_R = rows_R if self.origin_R is None else self.origin_R[rows_R]
        self.last_R, self.limits_B = self.last_R[rows_R], self.limits_B[stay_B]
        self.alive, self.done = self.alive.select(stay_B), self.done.select(stay_B)


def _unfinished(finished_B: Tensor) -> Tensor | None:
    """The sentences to go on with, when enough of them can be left behind; their number stays a multiple of ROWS."""
    staying = round_up(int((~finished_B).sum()), ROWS)
    if staying > 0.8 * len(finished_B):
        return None
    unfinished_first = finished_B.to(torch.uint8).sort(stable=True).indices
    return unfinished_first[:staying].sort().values


def _best_continuations(
    alive: Beams, logits_RV: Tensor, at_limit_B: Tensor, time: int, eos: int
) -> tuple[Beams, Tensor]:
    """The 2K best continuations of each sentence, and the beam each came from.

    Twice as many as there are beams, so that K are left if all the ended ones are taken out. A sentence that is as long
    as it may be has the end mark as its only continuation.
    """
    rows, beams = alive.scores_BK.shape
    top = best_tokens(logits_RV, min(2 * beams, logits_RV.shape[1]))
    shape = (rows, beams, -1)
    log_probs_BKC, tokens_BKC = top.log_probs_RC.view(shape), top.tokens_RC.view(shape)
    end_BK1 = (logits_RV[:, eos].float() - top.norm_R).view(rows, beams, 1)
    only_end_BKC = torch.full_like(log_probs_BKC, -math.inf)
    only_end_BKC[:, :, :1] = end_BK1
    at_limit_B11 = at_limit_B[:, None, None]
    log_probs_BKC = torch.where(at_limit_B11, only_end_BKC, log_probs_BKC)
    tokens_BKC = tokens_BKC.masked_fill(at_limit_B11, eos)

    totals = (alive.scores_BK[:, :, None] + log_probs_BKC).flatten(1)
    best = totals.topk(min(2 * beams, totals.shape[1]), dim=1)
    from_BC = best.indices // log_probs_BKC.shape[2]
    candidates = alive.pick(from_BC, best.values)
    candidates.tokens_BKT[:, :, time] = tokens_BKC.flatten(1).gather(1, best.indices)
    candidates.log_probs_BKT[:, :, time] = log_probs_BKC.flatten(1).gather(1, best.indices)
    return candidates, from_BC


def _merge(done: Beams, candidates: Beams, ended_BC: Tensor, norm: float) -> Beams:
    """The K best of the finished hypotheses and those that end now; an end outside the first K does not count."""
    beams = done.scores_BK.shape[1]
    ranked_low_C = torch.arange(ended_BC.shape[1], device=ended_BC.device) >= beams
    full_B1 = done.scores_BK[:, -1:] > -math.inf  # the sentence is finished: nothing is added any more
    scores = (candidates.scores_BK / norm).masked_fill(~ended_BC | ranked_low_C | full_B1, -math.inf)
    both = Beams(
        torch.cat([done.scores_BK, scores], 1),
        torch.cat([done.tokens_BKT, candidates.tokens_BKT], 1),
        torch.cat([done.log_probs_BKT, candidates.log_probs_BKT], 1),
    )
    best = both.scores_BK.sort(dim=1, descending=True, stable=True)
    return both.pick(best.indices[:, :beams], best.values[:, :beams])
