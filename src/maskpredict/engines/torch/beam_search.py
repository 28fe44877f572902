"""Beam search over an autoregressive model: the baseline, the teacher, and with one beam the greedy decoder.

Scores are log-probabilities divided by length^alpha. A sentence is finished when it has as many finished hypotheses as
beams. All beams advance together in a few vectorised operations per step, finished sentences leave the batch, and
`advance` hides the model's incremental state. Shape letters: B sentences, K beams, C candidates, T positions, V
vocabulary, R = B * K rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from maskpredict.decoding.pausing import pause
from maskpredict.decoding.settings import BeamSettings
from maskpredict.model.best_tokens import best_tokens
from maskpredict.model.padding import ROWS, round_up

Advance = Callable[[Tensor, Tensor | None, int], Tensor]
"""(last tokens [R], the row of the previous step that each continues [R] or None for the same rows, time) -> logits
[R, V]. Rows become fewer when finished sentences leave; a sentence's beams are always in adjacent rows."""

CHECK_EVERY = 4
"""Steps between two checks for finished sentences, which leave the batch."""


@dataclass(frozen=True)
class SearchShape:
    """The sizes and settings that determine a search's steps."""

    sentences: int
    source_width: int
    width: int
    """Longest target of a source of that width."""
    settings: BeamSettings

    @property
    def beams(self) -> int:
        """Hypotheses of each sentence."""
        return self.settings.beam_size


@dataclass
class Beams:
    """Hypotheses of each sentence; unused places score -inf."""

    scores_BK: Tensor
    tokens_BKT: Tensor
    log_probs_BKT: Tensor

    @classmethod
    def empty(cls, rows: int, beams: int, width: int, fill: int, device: torch.device) -> Beams:
        """Return unused places for `beams` hypotheses per sentence."""
        return cls(
            torch.full((rows, beams), -math.inf, device=device),
            torch.full((rows, beams, width), fill, dtype=torch.long, device=device),
            torch.zeros((rows, beams, width), device=device),
        )

    def pick(self, index_BC: Tensor, scores_BC: Tensor) -> Beams:
        """Return the hypotheses at `index_BC`, with new scores."""
        deep = index_BC[:, :, None].expand(-1, -1, self.tokens_BKT.shape[2])
        return Beams(scores_BC, self.tokens_BKT.gather(1, deep), self.log_probs_BKT.gather(1, deep))

    def select(self, sentences: Tensor) -> Beams:
        """Return the hypotheses of some sentences."""
        return Beams(self.scores_BK[sentences], self.tokens_BKT[sentences], self.log_probs_BKT[sentences])

    def replace(self, sentences: Tensor, others: Beams) -> None:
        """Overwrite the hypotheses of some sentences."""
        self.scores_BK[sentences] = others.scores_BK
        self.tokens_BKT[sentences] = others.tokens_BKT
        self.log_probs_BKT[sentences] = others.log_probs_BKT


def beam_search(search: Search) -> Beams:
    """Run a search to its end, and return the finished hypotheses of each sentence, best first."""
    rows, beams, width = search.done.tokens_BKT.shape
    device = search.limits_B.device
    result = Beams.empty(rows, beams, width, search.eos, device)
    active_B = torch.arange(rows, device=device)  # the sentences still in the batch
    for time in range(width):
        pause()
        search.step(time)
        checking = time % CHECK_EVERY == CHECK_EVERY - 1
        if (checking or device.type == "cpu") and bool(search.finished_B.all()):  # each check synchronizes a GPU
            break
        if checking and (stay := _unfinished(search.finished_B)) is not None:
            result.replace(active_B, search.done)
            active_B = active_B[stay]
            search.keep_sentences(stay)
    result.replace(active_B, search.done)
    return result


class Search:
    """A beam search in progress: its state is tensors, and a step does not read their values on the host.

    It has `rows` sentences with `beams` hypotheses each, of at most `limits_B` tokens; no limit exceeds `width`.
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
        self.alive.scores_BK[:, 0] = 0.0  # all beams start equal, so only the first counts
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

    def keep_sentences(self, stay_B: Tensor) -> None:
        """Keep only these sentences in the batch."""
        rows_R = (stay_B[:, None] * self.beams + torch.arange(self.beams, device=stay_B.device)).flatten()
        self.origin_R = rows_R if self.origin_R is None else self.origin_R[rows_R]
        self.last_R, self.limits_B = self.last_R[rows_R], self.limits_B[stay_B]
        self.alive, self.done = self.alive.select(stay_B), self.done.select(stay_B)


def _unfinished(finished_B: Tensor) -> Tensor | None:
    """Return the sentences to keep, rounded up to a multiple of ROWS; None if too few can be dropped."""
    staying = round_up(int((~finished_B).sum()), ROWS)
    if staying > 0.8 * len(finished_B):
        return None
    unfinished_first = finished_B.to(torch.uint8).sort(stable=True).indices
    return unfinished_first[:staying].sort().values


def _best_continuations(
    alive: Beams, logits_RV: Tensor, at_limit_B: Tensor, time: int, eos: int
) -> tuple[Beams, Tensor]:
    """Return the 2K best continuations of each sentence, and the beam each continues.

    At least K of them do not end, because a beam has one end mark. At its length limit, a sentence has the end mark as
    its only continuation.
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
    """Return the K best of the finished hypotheses and those that end now, among the first K candidates."""
    beams = done.scores_BK.shape[1]
    ranked_low_C = torch.arange(ended_BC.shape[1], device=ended_BC.device) >= beams
    full_B1 = done.scores_BK[:, -1:] > -math.inf  # the sentence is finished
    scores = (candidates.scores_BK / norm).masked_fill(~ended_BC | ranked_low_C | full_B1, -math.inf)
    both = Beams(
        torch.cat([done.scores_BK, scores], 1),
        torch.cat([done.tokens_BKT, candidates.tokens_BKT], 1),
        torch.cat([done.log_probs_BKT, candidates.log_probs_BKT], 1),
    )
    best = both.scores_BK.sort(dim=1, descending=True, stable=True)
    return both.pick(best.indices[:, :beams], best.values[:, :beams])
