"""The kernels between two passes against the plain functions of the same name."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
import torch

from maskpredict.engines.cuda import draft_step_reference
from maskpredict.engines.cuda.draft_step_check import matches_reference
from maskpredict.engines.cuda.draft_step_reference import DraftOps, max_masked, prune
from maskpredict.kernels.fixed_drafts import Blank, FixedDrafts
from maskpredict.kernels.reference import BlockBests

PAD, MASK = 0, 4


def predictions(rows: int, blocks: int, device: torch.device, seed: int) -> BlockBests:
    """Bests of which many are equal, so that the order of equals matters; some blocks have none."""
    chance = torch.Generator().manual_seed(seed)
    highest = torch.randint(-3, 3, (blocks, rows), generator=chance) / 2
    highest[1:][torch.rand(highest[1:].shape, generator=chance) < 0.3] = -torch.inf
    total = 1 + torch.randint(0, 3, (blocks, rows), generator=chance).float()
    total[highest == -torch.inf] = 0.0
    token = torch.arange(blocks)[:, None] * 128 + torch.randint(0, 128, (blocks, rows), generator=chance)
    return BlockBests(highest.to(device), total.to(device), token.int().to(device))


def started_drafts(
    ops: DraftOps, sentences: int, candidates: int, width: int, passes: int, device: torch.device
) -> FixedDrafts:
    scores = torch.randint(0, 9, (sentences, 40), generator=torch.Generator().manual_seed(3)).half()
    scores[:, 0] = -torch.inf
    drafts = FixedDrafts.empty(sentences * candidates, width, device)
    ops.begin(drafts, scores.to(device), passes, 2, 31, PAD, MASK)
    return drafts


def assert_same(got: FixedDrafts, wanted: FixedDrafts) -> None:
    for field in fields(FixedDrafts):
        if field.name not in ("results", "log_probs_RW"):  # the one holds the others, and rounds differently
            assert torch.equal(getattr(got, field.name), getattr(wanted, field.name)), field.name
    torch.testing.assert_close(got.log_probs_RW, wanted.log_probs_RW)


@pytest.mark.parametrize(("sentences", "candidates", "width"), [(1, 1, 8), (1, 5, 48), (2, 3, 40), (1, 2, 128)])
@pytest.mark.parametrize("threshold", [None, 0.4])
def test_all_passes(
    gpu_draft_ops: DraftOps,
    kernel_device: torch.device,
    sentences: int,
    candidates: int,
    width: int,
    threshold: float | None,
) -> None:
    made = [
        started_drafts(ops, sentences, candidates, width, 4, kernel_device)
        for ops in (gpu_draft_ops, draft_step_reference)
    ]
    assert_same(*made)
    for t in (1, 2, 3):
        rows = sentences * candidates * max_masked(width, 4, t - 1)
        bests = predictions(rows, 130, kernel_device, seed=t)
        for drafts, ops in zip(made, (gpu_draft_ops, draft_step_reference), strict=True):
            # Rounding must not make different ties.
            ops.take_and_mask_again(drafts, replace(bests, total_GN=bests.total_GN.round()), t, MASK, threshold)
        assert_same(*made)
    bests = predictions(sentences * candidates * max_masked(width, 4, 3), 1, kernel_device, seed=9)
    gpu_draft_ops.take_predictions(made[0], bests)
    draft_step_reference.take_predictions(made[1], bests)
    assert_same(*made)


@pytest.mark.parametrize(("sentences", "width"), [(1, 8), (3, 40), (2, 128)])
@pytest.mark.parametrize("threshold", [None, 0.4])
def test_all_passes_over_alignments(
    gpu_draft_ops: DraftOps, kernel_device: torch.device, sentences: int, width: int, threshold: float | None
) -> None:
    blank = Blank(predicted=MASK, shown=1)
    lengths_B = torch.arange(1, sentences + 1).to(kernel_device) * (width // 2 // sentences)
    made = []
    for ops in (gpu_draft_ops, draft_step_reference):
        made.append(FixedDrafts.empty(sentences, width, kernel_device))
        ops.begin_alignments(made[-1], lengths_B, 2, 4, PAD, MASK)
    assert_same(*made)
    assert made[0].lengths_R.tolist() == (2 * lengths_B).tolist()
    for t in (1, 2, 3, 4):
        rows = sentences * max_masked(width, 4, t - 1, blank)
        bests = predictions(rows, 9, kernel_device, seed=t)
        bests.token_GN[:, ::2] = MASK  # as many blanks as words
        for drafts, ops in zip(made, (gpu_draft_ops, draft_step_reference), strict=True):
            rounded = replace(bests, total_GN=bests.total_GN.round())  # rounding must not make different ties
            if t == 4:
                ops.take_predictions(drafts, rounded, blank)
            else:
                ops.take_and_mask_again(drafts, rounded, t, MASK, threshold, blank)
        assert_same(*made)
        assert not (made[0].tokens_RW == MASK).any()
        assert (made[0].tokens_RW == blank.shown).any()


def test_the_kernels_pass_the_self_check(gpu_draft_ops: DraftOps, kernel_device: torch.device) -> None:
    assert matches_reference(gpu_draft_ops, kernel_device)


def test_pruned_drafts_stay_as_they_are(gpu_draft_ops: DraftOps, kernel_device: torch.device) -> None:
    made = [started_drafts(ops, 2, 3, 40, 4, kernel_device) for ops in (gpu_draft_ops, draft_step_reference)]
    bests = predictions(6 * 40, 3, kernel_device, seed=5)
    for drafts, ops in zip(made, (gpu_draft_ops, draft_step_reference), strict=True):
        ops.take_predictions(drafts, bests)
        prune(drafts, 2, 1)
        ops.mask_again(drafts, 1, MASK, None)
    assert_same(*made)
    assert made[0].pruned_R.tolist().count(1) == 4
    assert not made[0].masked_RW[made[0].pruned_R.bool()].any()
