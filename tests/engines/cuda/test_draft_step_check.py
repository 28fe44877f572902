"""The check by which kernels for what happens between two passes have to prove themselves."""

from __future__ import annotations

import torch

from maskpredict.engines.cuda import draft_step_reference as fixed_drafts
from maskpredict.engines.cuda.draft_step_check import comes_to_the_same
from maskpredict.kernels.fixed_drafts import FixedDrafts
from maskpredict.kernels.reference import BlockBests

CPU = torch.device("cpu")


class MasksTooFew:
    """Takes one pass for the next."""

    begin = staticmethod(fixed_drafts.begin)
    take_predictions = staticmethod(fixed_drafts.take_predictions)
    mask_again = staticmethod(fixed_drafts.mask_again)

    @staticmethod
    def take_and_mask_again(drafts: FixedDrafts, bests: BlockBests, t: int, mask: int, threshold: float | None) -> None:
        fixed_drafts.take_and_mask_again(drafts, bests, t + 1, mask, threshold)


def test_what_comes_to_something_else_is_noticed() -> None:
    assert comes_to_the_same(fixed_drafts, CPU)
    assert not comes_to_the_same(MasksTooFew(), CPU)
