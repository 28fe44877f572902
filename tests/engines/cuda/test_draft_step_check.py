"""The self-check of the kernels between two passes."""

from __future__ import annotations

import torch

from maskpredict.engines.cuda import draft_step_reference
from maskpredict.engines.cuda.draft_step_check import matches_reference
from maskpredict.kernels.fixed_drafts import FixedDrafts
from maskpredict.kernels.reference import BlockBests

CPU = torch.device("cpu")


class MasksTooFew:
    """Takes one pass for the next."""

    begin = staticmethod(draft_step_reference.begin)
    take_predictions = staticmethod(draft_step_reference.take_predictions)
    mask_again = staticmethod(draft_step_reference.mask_again)

    @staticmethod
    def take_and_mask_again(drafts: FixedDrafts, bests: BlockBests, t: int, mask: int, threshold: float | None) -> None:
        draft_step_reference.take_and_mask_again(drafts, bests, t + 1, mask, threshold)


def test_operations_with_other_results_fail_the_check() -> None:
    assert matches_reference(draft_step_reference, CPU)
    assert not matches_reference(MasksTooFew(), CPU)
