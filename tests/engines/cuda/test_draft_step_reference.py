"""Passes over drafts in place against `mask_predict` itself."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from maskpredict.decoding.mask_predict import mask_predict
from maskpredict.engines.cuda import draft_step_reference
from maskpredict.engines.cuda.draft_step_reference import max_masked, prune
from maskpredict.kernels.fixed_drafts import FixedDrafts, split_results
from maskpredict.kernels.reference import BlockBests

PAD, MASK, WIDTH = 0, 4, 24


def length_scores(*lengths: int) -> Tensor:
    """Scores by which these lengths are likeliest, in this order."""
    scores = torch.zeros(1, 64)
    for place, length in enumerate(lengths):
        scores[0, length] = 9.0 - place
    return scores


def predictions(seed: int, rows: int) -> BlockBests:
    """Two blocks of the vocabulary; few different probabilities, so that there are many ties."""
    chance = torch.Generator().manual_seed(seed)
    highest = torch.randint(0, 3, (2, rows), generator=chance).float()
    total = torch.randint(1, 4, (2, rows), generator=chance).float()
    token = torch.randint(5, 9, (2, rows), generator=chance) + torch.tensor([[0], [128]])
    return BlockBests(highest, total, token.int())


def likeliest(bests: BlockBests) -> tuple[Tensor, Tensor]:
    """What `predict` says of the same."""
    highest, block = bests.highest_GN.max(0)
    norm = (bests.highest_GN + bests.total_GN.log()).logsumexp(0)
    return bests.token_GN.gather(0, block[None]).long().view(-1, WIDTH), (highest - norm).view(-1, WIDTH)


def at(places: Tensor, bests: BlockBests) -> BlockBests:
    """Some rows of them."""
    rows = places.flatten()
    return BlockBests(bests.highest_GN[:, rows], bests.total_GN[:, rows], bests.token_GN[:, rows])


@pytest.mark.parametrize("passes", [1, 2, 4, 10])
@pytest.mark.parametrize("threshold", [None, 0.3, 0.9])
def test_passes_in_place_are_those_of_mask_predict(passes: int, threshold: float | None) -> None:
    lengths = [20, 7, 2, 24, 3]
    drafts = FixedDrafts.empty(5, WIDTH, torch.device("cpu"))
    draft_step_reference.begin(drafts, length_scores(*lengths), passes, 2, 63, PAD, MASK)
    assert drafts.lengths_R.tolist() == lengths
    asked = []

    def predict(inputs: Tensor, masked: Tensor) -> tuple[Tensor, Tensor]:
        asked.append((inputs, masked))
        return likeliest(predictions(len(asked), 5 * WIDTH))

    free = torch.arange(WIDTH) < torch.tensor(lengths)[:, None]
    draft = torch.full((5, WIDTH), PAD).masked_fill(free, MASK)
    wanted = mask_predict(predict, draft, free, torch.full((5,), passes), MASK, threshold=threshold)
    for t, (inputs, masked) in enumerate(asked, 1):
        assert torch.equal(drafts.inputs_RW.long(), inputs)
        assert torch.equal(drafts.masked_RW.bool(), masked)
        bests = at(drafts.places_RW[:, : max_masked(WIDTH, passes, t - 1)], predictions(t, 5 * WIDTH))
        if t < passes:
            draft_step_reference.take_and_mask_again(drafts, bests, t, MASK, threshold)
        else:
            draft_step_reference.take_predictions(drafts, bests)
    tokens, log_probs, scores, found_lengths, used, pruned = split_results(drafts.results, 5, WIDTH)
    assert torch.equal(tokens.long(), wanted.tokens_BT)
    torch.testing.assert_close(log_probs, wanted.log_probs_BT)
    assert torch.equal(used.long(), wanted.passes_B)
    assert found_lengths.tolist() == lengths
    assert scores.tolist() == [9.0, 8.0, 7.0, 6.0, 5.0]
    assert not pruned.any()


def test_lengths_come_likeliest_first_and_within_their_bounds() -> None:
    drafts = FixedDrafts.empty(4, WIDTH, torch.device("cpu"))
    draft_step_reference.begin(drafts, length_scores(9, 1, 63, 8), 3, 2, 30, PAD, MASK)
    assert drafts.lengths_R.tolist() == [9, 2, 30, 8]
    assert drafts.tokens_RW[1].tolist() == [MASK] * 2 + [PAD] * (WIDTH - 2)


def test_masked_positions_come_first() -> None:
    drafts = FixedDrafts.empty(2, WIDTH, torch.device("cpu"))
    draft_step_reference.begin(drafts, length_scores(6, 3), 3, 2, 30, PAD, MASK)
    assert torch.equal(drafts.places_RW.flatten(), torch.arange(2 * WIDTH, dtype=torch.int32))
    drafts.log_probs_RW[0, :6] = torch.tensor([-0.1, -0.9, -0.2, -0.8, -0.7, -0.6])
    drafts.log_probs_RW[1, :3] = torch.tensor([-0.1, -0.2, -0.9])
    draft_step_reference.mask_again(drafts, 1, MASK, None)
    assert drafts.places_RW[0].tolist() == [1, 3, 4, 5, 0, 2, *range(6, WIDTH)]
    assert drafts.places_RW[1].tolist() == [WIDTH + place for place in (1, 2, 0, *range(3, WIDTH))]


def test_the_most_confident_drafts_go_on_and_the_earlier_of_equals() -> None:
    drafts = FixedDrafts.empty(5, WIDTH, torch.device("cpu"))
    draft_step_reference.begin(drafts, length_scores(9, 8, 1, 2, 7), 3, 2, 30, PAD, MASK)
    for row, log_prob in enumerate([-0.5, -0.25, -0.1, -0.1, -0.25]):  # the fourth has the third one's length
        drafts.log_probs_RW[row, : drafts.lengths_R[row]] = log_prob
    prune(drafts, 1, 2)
    assert drafts.pruned_R.tolist() == [1, 0, 0, 1, 1]
    assert drafts.passes_R.tolist() == [1, 3, 3, 1, 1]
