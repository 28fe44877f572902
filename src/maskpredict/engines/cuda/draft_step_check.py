"""Self-check of the kernels between two passes: they must do what the PyTorch functions do."""

from __future__ import annotations

import torch

from maskpredict.engines.cuda import draft_step_reference
from maskpredict.engines.cuda.draft_step_reference import DraftOps, max_masked
from maskpredict.kernels.fixed_drafts import Blank, FixedDrafts
from maskpredict.kernels.reference import BlockBests

SENTENCES, CANDIDATES, WIDTH, PASSES, BLOCKS = 2, 3, 24, 4, 9
PAD, MASK = 0, 4
BLANK = Blank(predicted=MASK, shown=1)
POSITIONS = 2


def matches_reference(ops: DraftOps, device: torch.device) -> bool:
    """Return True if the operations match the PyTorch functions on synthetic predictions with ties."""
    return all(_matches(ops, device, blank) for blank in (None, BLANK))


def _matches(ops: DraftOps, device: torch.device, blank: Blank | None) -> bool:
    actual, expected = (_decoded(each, device, blank) for each in (ops, draft_step_reference))
    exact = ("tokens_RW", "lengths_R", "used_R", "inputs_RW", "masked_RW", "places_RW", "passes_R")
    same = all(torch.equal(getattr(actual, name), getattr(expected, name)) for name in exact)
    return same and torch.allclose(actual.log_probs_RW, expected.log_probs_RW, atol=1e-4)


def _decoded(ops: DraftOps, device: torch.device, blank: Blank | None) -> FixedDrafts:
    """Return drafts of lengths to try, or, with a blank, alignments."""
    chance = torch.Generator().manual_seed(1)
    drafts = FixedDrafts.empty(SENTENCES * CANDIDATES, WIDTH, device)
    scores_BC = torch.randint(-9, 9, (SENTENCES, WIDTH), generator=chance).float()
    if blank is None:
        ops.begin(drafts, scores_BC.to(device), PASSES, 2, WIDTH - 1, PAD, MASK)
    else:
        lengths_B = torch.randint(1, WIDTH // POSITIONS + 1, (SENTENCES * CANDIDATES,), generator=chance)
        ops.begin_alignments(drafts, lengths_B.to(device), POSITIONS, PASSES, PAD, MASK)
    for t in range(1, PASSES + 1):
        shape = (BLOCKS, SENTENCES * CANDIDATES * max_masked(WIDTH, PASSES, t - 1, blank))
        token_GN = torch.randint(MASK if blank else MASK + 1, MASK + 3 if blank else 99, shape, generator=chance).int()
        highest_GN = torch.randint(-2, 3, shape, generator=chance).float()
        # Few distinct confidences, far enough apart that rounding cannot swap them.
        total_GN = torch.randint(1, 4, shape[1:], generator=chance).float().expand(shape) * (highest_GN == 2)
        highest_GN[0], total_GN[0] = 2.0, 1.0
        bests = BlockBests(*(x.to(device).contiguous() for x in (highest_GN, total_GN, token_GN)))
        if t < PASSES:
            ops.take_and_mask_again(drafts, bests, t, MASK, 0.9, blank)
        else:
            ops.take_predictions(drafts, bests, blank)
    return drafts
