"""Beam search whose steps are three kernel launches instead of forty.

It finds what `Search` finds, except that equally good continuations may come in another order. Shape letters as in
`engines/torch/beam_search.py`.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from maskpredict.engines.torch.beam_search import Beams, Search
from maskpredict.kernels.beam_step import best_of_groups, continue_beams
from maskpredict.kernels.pdl import launch_options
from maskpredict.kernels.vocabulary_scan import scan
from maskpredict.model.best_tokens import GPU_GROUP


class FusedSearch(Search):
    """`Search` with fused steps."""

    def step(self, time: int) -> None:
        """As in `Search`."""
        logits_RV = self.advance(self.last_R, self.origin_R, time)
        rows, vocabulary = logits_RV.shape
        sentences, beams, width = self.alive.tokens_BKT.shape
        count = min(2 * beams, vocabulary)
        norm_R, highest_RG = scan(logits_RV, GPU_GROUP)
        log_probs_RC, end_R = norm_R.new_empty(rows, count), norm_R.new_empty(rows)
        tokens_RC = torch.empty((rows, count), dtype=torch.long, device=logits_RV.device)
        groups, options = highest_RG.shape[1], launch_options(logits_RV)
        best_of_groups[(rows,)](
            logits_RV, highest_RG, norm_R, log_probs_RC, tokens_RC, end_R,
            logits_RV.stride(0), vocabulary, groups, self.eos, count, GPU_GROUP, triton.next_power_of_2(groups),
            **options,
        )  # fmt: skip
        alive, done = _like(self.alive), _like(self.done)
        finished_B = torch.empty(sentences, dtype=torch.uint8, device=logits_RV.device)
        last_R, origin_R = (torch.empty_like(self.last_R) for _ in range(2))
        length_norm = float((time + 1) ** self.length_penalty)
        continue_beams[(sentences,)](
            log_probs_RC, tokens_RC, end_R, self.limits_B, *_parts(self.alive), *_parts(self.done), *_parts(alive),
            *_parts(done), finished_B, last_R, origin_R, time, width, self.eos, length_norm,
            beams, count, min(2 * beams, beams * count), triton.next_power_of_2(beams * count),
            triton.next_power_of_2(3 * beams), triton.next_power_of_2(width), **options,
        )  # fmt: skip
        self.alive, self.done, self.finished_B = alive, done, finished_B.view(torch.bool)
        self.last_R, self.origin_R = last_R, origin_R if beams > 1 else None


def _like(beams: Beams) -> Beams:
    return Beams(*(torch.empty_like(part) for part in _parts(beams)))


def _parts(beams: Beams) -> tuple[Tensor, Tensor, Tensor]:
    return beams.scores_BK, beams.tokens_BKT, beams.log_probs_BKT
