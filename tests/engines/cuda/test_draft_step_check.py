"""The self-check of the kernels between two passes."""

from __future__ import annotations

import pytest
import torch

from maskpredict.engines.cuda import draft_step_reference
from maskpredict.engines.cuda.draft_step_check import matches_reference
from maskpredict.engines.cuda.draft_step_reference import DraftOps
from maskpredict.kernels.fixed_drafts import Blank, FixedDrafts
from maskpredict.kernels.reference import BlockBests

CPU = torch.device("cpu")


class RightOps:
    """The operations, to be got wrong in one way or another."""

    begin = staticmethod(draft_step_reference.begin)
    begin_alignments = staticmethod(draft_step_reference.begin_alignments)
    take_predictions = staticmethod(draft_step_reference.take_predictions)
    mask_again = staticmethod(draft_step_reference.mask_again)
    take_and_mask_again = staticmethod(draft_step_reference.take_and_mask_again)


class MasksTooFew(RightOps):
    """Takes one pass for the next."""

    @staticmethod
    def take_and_mask_again(
        drafts: FixedDrafts, bests: BlockBests, t: int, mask: int, threshold: float | None, blank: Blank | None = None
    ) -> None:
        draft_step_reference.take_and_mask_again(drafts, bests, t + 1, mask, threshold, blank)


class TakesBlanksForWords(RightOps):
    """Masks the least confident of all positions, words or blanks."""

    @staticmethod
    def take_and_mask_again(
        drafts: FixedDrafts, bests: BlockBests, t: int, mask: int, threshold: float | None, blank: Blank | None = None
    ) -> None:
        draft_step_reference.take_predictions(drafts, bests, blank)
        draft_step_reference.mask_again(drafts, t, mask, threshold)


def test_the_operations_themselves_pass_the_check() -> None:
    assert matches_reference(RightOps(), CPU)


@pytest.mark.parametrize("wrong", [MasksTooFew(), TakesBlanksForWords()], ids=lambda ops: type(ops).__name__)
def test_operations_with_other_results_fail_the_check(wrong: DraftOps) -> None:
    assert not matches_reference(wrong, CPU)
