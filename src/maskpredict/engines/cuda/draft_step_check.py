"""Self-check of the kernels between two passes: they must do what the PyTorch functions do."""

from __future__ import annotations

import torch

from maskpredict.engines.cuda import draft_step_reference
from maskpredict.engines.cuda.draft_step_reference import DraftOps, max_masked
from maskpredict.kernels.fixed_drafts import FixedDrafts
from maskpredict.kernels.reference import BlockBests

SENTENCES, CANDIDATES, WIDTH, PASSES, BLOCKS = 2, 3, 24, 4, 9
PAD, MASK = 0, 4


def matches_reference(ops: DraftOps, device: torch.device) -> bool:
    """Return True if the operations match the PyTorch functions on synthetic predictions with ties."""
    actual, expected = _decoded(ops, device), _decoded(draft_step_reference, device)
    exact = ("tokens_RW", "lengths_R", "used_R", "inputs_RW", "masked_RW", "places_RW", "passes_R")
    same = all(torch.equal(getattr(actual, name), getattr(expected, name)) for name in exact)
    return same and torch.allclose(actual.log_probs_RW, expected.log_probs_RW, atol=1e-4)


def _decoded(ops: DraftOps, device: torch.device) -> FixedDrafts:
    chance = torch.Generator().manual_seed(1)
    drafts = FixedDrafts.empty(SENTENCES * CANDIDATES, WIDTH, device)
    scores_BC = torch.randint(-9, 9, (SENTENCES, WIDTH), generator=chance).float()
    ops.begin(drafts, scores_BC.to(device), PASSES, 2, WIDTH - 1, PAD, MASK)
    for t in range(1, PASSES + 1):
        shape = (BLOCKS, SENTENCES * CANDIDATES * max_masked(WIDTH, PASSES, t - 1))
        token_GN = torch.randint(5, 99, shape, generator=chance, dtype=torch.int32)
        highest_GN = torch.randint(-2, 3, shape, generator=chance).float()
        # Few distinct confidences, far enough apart that rounding cannot swap them.
        total_GN = torch.randint(1, 4, shape[1:], generator=chance).float().expand(shape) * (highest_GN == 2)
        highest_GN[0], total_GN[0] = 2.0, 1.0
        bests = BlockBests(*(x.to(device).contiguous() for x in (highest_GN, total_GN, token_GN)))
        if t < PASSES:
            ops.take_and_mask_again(drafts, bests, t, MASK, 0.9)
        else:
            ops.take_predictions(drafts, bests)
    return drafts
