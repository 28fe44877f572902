"""Mask-predict between two decoder passes on `FixedDrafts`, in plain PyTorch.

`kernels/draft_step.py` has most of these functions as one launch each. `decoding/mask_predict.py` chooses the masked
positions. Shape letters: B sentences, L candidates, R = B * L drafts (a sentence's in adjacent rows), W positions, C
length classes.
"""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor

from maskpredict.decoding.mask_predict import Step
from maskpredict.decoding.strategies import words_and_blanks
from maskpredict.kernels.fixed_drafts import Blank, FixedDrafts
from maskpredict.kernels.reference import BlockBests


class DraftOps(Protocol):
    """The operations between two passes: this module, or `kernels.draft_step`."""

    def begin(
        self, drafts: FixedDrafts, scores_BC: Tensor, passes: int, shortest: int, longest: int, pad: int, mask: int
    ) -> None: ...

    def begin_alignments(
        self, drafts: FixedDrafts, lengths_B: Tensor, times: int, passes: int, pad: int, mask: int
    ) -> None: ...

    def take_predictions(self, drafts: FixedDrafts, bests: BlockBests, blank: Blank | None = None) -> None: ...

    def mask_again(
        self, drafts: FixedDrafts, t: int, mask: int, threshold: float | None, blank: Blank | None = None
    ) -> None: ...

    def take_and_mask_again(
        self,
        drafts: FixedDrafts,
        bests: BlockBests,
        t: int,
        mask: int,
        threshold: float | None,
        blank: Blank | None = None,
    ) -> None: ...


def begin(
    drafts: FixedDrafts, scores_BC: Tensor, passes: int, shortest: int, longest: int, pad: int, mask: int
) -> None:
    """Set each sentence's drafts to fully masked targets of its likeliest lengths, for `passes` passes."""
    order_BC = scores_BC.float().sort(dim=1, descending=True, stable=True).indices
    candidates = len(drafts.lengths_R) // len(scores_BC)
    lengths_BL = order_BC[:, :candidates].clamp(shortest, longest)
    _begin(drafts, lengths_BL.flatten(), passes, pad, mask)
    drafts.length_scores_R.copy_(scores_BC.gather(1, lengths_BL).flatten())


def begin_alignments(drafts: FixedDrafts, lengths_B: Tensor, times: int, passes: int, pad: int, mask: int) -> None:
    """Set each sentence's draft to a fully masked alignment: `times` positions for each of its `lengths_B` subwords."""
    _begin(drafts, times * lengths_B, passes, pad, mask)
    drafts.length_scores_R.zero_()


def _begin(drafts: FixedDrafts, lengths_R: Tensor, passes: int, pad: int, mask: int) -> None:
    drafts.lengths_R.copy_(lengths_R)
    _mask(drafts, _free(drafts))
    drafts.tokens_RW.fill_(pad).masked_fill_(drafts.masked_RW.bool(), mask)
    drafts.inputs_RW.copy_(drafts.tokens_RW)
    drafts.log_probs_RW.zero_()
    drafts.used_R.zero_()
    drafts.pruned_R.zero_()
    drafts.passes_R.fill_(passes)


def take_predictions(drafts: FixedDrafts, bests: BlockBests, blank: Blank | None = None) -> None:
    """Write the likeliest tokens to the masked positions; `bests` has the same number of rows for each draft."""
    highest_GN = bests.highest_GN
    best_N, block_N = highest_GN.max(0)
    total_N = (bests.total_GN * (highest_GN - best_N).exp()).sum(0)
    token_N = bests.token_GN.gather(0, block_N[None])[0]
    masked_RW = drafts.masked_RW.bool()
    predicted = len(best_N) // len(masked_RW)
    number_RW = (drafts.masked_RW - 1).clamp(min=0).long()
    if blank is not None:
        token_N = torch.where(token_N == blank.predicted, blank.shown, token_N)
    tokens_RW, totals_RW = (values_N.view(-1, predicted).gather(1, number_RW) for values_N in (token_N, total_N))
    drafts.tokens_RW.copy_(torch.where(masked_RW, tokens_RW, drafts.tokens_RW))
    drafts.log_probs_RW.copy_(torch.where(masked_RW, -totals_RW.log(), drafts.log_probs_RW))
    drafts.used_R.add_(masked_RW.any(1))


def mask_again(drafts: FixedDrafts, t: int, mask: int, threshold: float | None, blank: Blank | None = None) -> None:
    """Mask the positions of pass `t` > 0 as `words_and_blanks` does, except those above the threshold.

    Without blanks, that is what `least_confident` does.
    """
    masked_RW, free_RW, shown = drafts.masked_RW.bool(), _free(drafts), None if blank is None else blank.shown
    step = Step(t, drafts.passes_R, drafts.log_probs_RW, masked_RW, free_RW, drafts.tokens_RW, shown)
    masked_RW = words_and_blanks(step) & (t < drafts.passes_R)[:, None]
    if threshold is not None:
        masked_RW = masked_RW & (drafts.log_probs_RW < math.log(threshold))
    _mask(drafts, masked_RW)
    drafts.inputs_RW.copy_(drafts.tokens_RW.masked_fill(masked_RW, mask))


def take_and_mask_again(
    drafts: FixedDrafts, bests: BlockBests, t: int, mask: int, threshold: float | None, blank: Blank | None = None
) -> None:
    """Run `take_predictions` of pass `t` - 1 and `mask_again` for pass `t`."""
    take_predictions(drafts, bests, blank)
    mask_again(drafts, t, mask, threshold, blank)


def prune(drafts: FixedDrafts, sentences: int, kept: int) -> None:
    """Prune all but the `kept` most confident drafts of each sentence, after the first pass.

    Drafts of a duplicate length do not count: the caller drops them.
    """
    lengths_BL = drafts.lengths_R.view(sentences, -1)
    sums_R = torch.where(_free(drafts), drafts.log_probs_RW, 0.0).double().sum(1)
    scores_BL = (sums_R / drafts.lengths_R).view(sentences, -1)
    earlier_LL = torch.ones(scores_BL.shape[1], scores_BL.shape[1], device=scores_BL.device).tril(-1).bool()
    duplicate_BL = ((lengths_BL[:, :, None] == lengths_BL[:, None, :]) & earlier_LL).any(2)
    order_BL = scores_BL.masked_fill(duplicate_BL, -math.inf).sort(dim=1, descending=True, stable=True).indices
    rank_BL = order_BL.argsort(dim=1)
    drafts.pruned_R.copy_((rank_BL >= kept).flatten())
    drafts.passes_R.masked_fill_(drafts.pruned_R.bool(), 1)


def max_masked(width: int, passes: int, t: int, blank: Blank | None = None) -> int:
    """Return the most positions of a draft that are masked in pass `t`, counted from 0.

    Of words and blanks, at least one each is masked, which may be one more than their share of all positions.
    """
    return min(width, max(1, width * (passes - t) // passes) + int(blank is not None))


def masked_first(masked_RW: Tensor) -> Tensor:
    """Return the positions of each draft as rows of the flat batch [R, W], masked ones first, then left to right."""
    rows, width = masked_RW.shape
    first_of_draft_R = torch.arange(rows, device=masked_RW.device) * width
    return (~masked_RW).int().argsort(dim=1, stable=True) + first_of_draft_R[:, None]


def _mask(drafts: FixedDrafts, masked_RW: Tensor) -> None:
    drafts.masked_RW.copy_(masked_RW.cumsum(1) * masked_RW)
    drafts.places_RW.copy_(masked_first(masked_RW))


def _free(drafts: FixedDrafts) -> Tensor:
    width = drafts.tokens_RW.shape[1]
    return torch.arange(width, device=drafts.lengths_R.device) < drafts.lengths_R[:, None]
