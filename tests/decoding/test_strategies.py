"""The other orders in which a target can be filled in."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from maskpredict.decoding.mask_predict import mask_predict
from maskpredict.decoding.strategies import STRATEGIES, Iterations

MASK = 4
CONFIDENCE = torch.tensor([-0.5, -0.1, -0.9, -0.1, -0.3])
"""Of each place, at every pass; two places tie."""


def masked_places(strategy: str, iterations: Iterations = 10) -> list[list[int]]:
    """The places that each pass predicts, for a row of five."""
    plan = STRATEGIES[strategy]
    seen: list[list[int]] = []

    def predict(tokens_BT: Tensor, masked_BT: Tensor) -> tuple[Tensor, Tensor]:
        seen.append(masked_BT[0].nonzero()[:, 0].tolist())
        return torch.full_like(tokens_BT, 7), CONFIDENCE.expand(tokens_BT.shape)

    draft_BT = torch.full((1, 5), MASK)
    free_BT = draft_BT == MASK
    mask_predict(predict, draft_BT, free_BT, plan.count(free_BT.sum(1), iterations), MASK, strategy=plan.strategy)
    return seen


def test_easy_first_fixes_the_surest_token_each_pass_the_leftmost_of_equals() -> None:
    assert masked_places("easy_first") == [[0, 1, 2, 3, 4], [0, 2, 3, 4], [0, 2, 4], [0, 2], [2]]


def test_left_to_right_fixes_one_position_each_pass() -> None:
    assert masked_places("left_to_right") == [[0, 1, 2, 3, 4], [1, 2, 3, 4], [2, 3, 4], [3, 4], [4]]


def test_one_shot_is_one_pass_whatever_was_asked() -> None:
    assert masked_places("one_shot", iterations=10) == [[0, 1, 2, 3, 4]]


def test_mask_predict_masks_the_least_confident() -> None:
    assert masked_places("mask_predict", iterations=3) == [[0, 1, 2, 3, 4], [0, 2, 4], [2]]


@pytest.mark.parametrize("strategy", ["easy_first", "left_to_right"])
@pytest.mark.parametrize("iterations", [1, 10, "N"])
def test_one_token_a_pass_takes_as_many_passes_as_tokens(strategy: str, iterations: Iterations) -> None:
    free_B = torch.tensor([3, 8, 1])
    assert STRATEGIES[strategy].count(free_B, iterations).tolist() == [3, 8, 1]


def test_N_iterations_are_each_rows_own_number_of_tokens() -> None:
    assert STRATEGIES["mask_predict"].count(torch.tensor([3, 8, 1]), "N").tolist() == [3, 8, 1]
    assert STRATEGIES["mask_predict"].count(torch.tensor([3, 8, 1]), 4).tolist() == [4, 4, 4]
