"""The other orders in which a target can be filled in, with NumPy's arrays and with PyTorch's."""

from __future__ import annotations

from itertools import pairwise
from types import ModuleType

import array_api_compat.numpy as numpy_arrays
import array_api_compat.torch as torch_arrays
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskpredict.decoding.arrays import Array
from maskpredict.decoding.mask_predict import Step, mask_predict
from maskpredict.decoding.strategies import STRATEGIES, Iterations

MASK = 4
CONFIDENCE = [-0.5, -0.1, -0.9, -0.1, -0.3]
"""Of each place, at every pass; two places tie."""


def masked_places(xp: ModuleType, strategy: str, iterations: Iterations = 10) -> list[list[int]]:
    """The places that each pass predicts, for a row of five."""
    plan = STRATEGIES[strategy]
    seen: list[list[int]] = []

    def predict(tokens_BT: Array, masked_BT: Array) -> tuple[Array, Array]:
        seen.append([place for place, masked in enumerate(masked_BT[0].tolist()) if masked])
        return xp.full_like(tokens_BT, 7), xp.asarray([CONFIDENCE])

    draft_BT = xp.full((1, 5), MASK)
    passes_B = plan.count(xp.asarray([5]), iterations)
    mask_predict(predict, draft_BT, draft_BT == MASK, passes_B, MASK, strategy=plan.strategy)
    return seen


def test_easy_first_fixes_the_surest_token_each_pass_the_leftmost_of_equals(xp: ModuleType) -> None:
    assert masked_places(xp, "easy_first") == [[0, 1, 2, 3, 4], [0, 2, 3, 4], [0, 2, 4], [0, 2], [2]]


def test_left_to_right_fixes_one_position_each_pass(xp: ModuleType) -> None:
    assert masked_places(xp, "left_to_right") == [[0, 1, 2, 3, 4], [1, 2, 3, 4], [2, 3, 4], [3, 4], [4]]


def test_random_order_fixes_one_position_each_pass_in_an_order_of_its_seed_and_length(xp: ModuleType) -> None:
    fixed = [(set(before) - set(after)).pop() for before, after in pairwise([*masked_places(xp, "random_order"), []])]
    assert sorted(fixed) == [0, 1, 2, 3, 4]

    def order(length: int, seed: int, padding: int = 0) -> list[int]:
        width = length + padding
        free_BT = xp.asarray([[place < length for place in range(width)]])
        masked_BT, fixed = free_BT, []
        for t in range(1, length + 1):
            log_probs_BT = xp.asarray([[-1.0] * width])
            step = Step(t, xp.asarray([length]), log_probs_BT, masked_BT, free_BT, masked_BT, seed=seed)
            after_BT = STRATEGIES["random_order"].strategy(step)
            fixed += sorted(set(places(masked_BT[0])) - set(places(after_BT[0])))
            masked_BT = after_BT
        return fixed

    orders = [tuple(order(8, seed)) for seed in range(40)]
    assert orders == [tuple(order(8, seed, padding=5)) for seed in range(40)]
    assert len(set(orders)) > 35
    assert all(sorted(one) == list(range(8)) for one in orders)
    # No place comes first much more often than another.
    firsts = [order(4, seed)[0] for seed in range(400)]
    assert all(70 <= firsts.count(place) <= 130 for place in range(4))


def test_one_shot_is_one_pass_whatever_was_asked(xp: ModuleType) -> None:
    assert masked_places(xp, "one_shot", iterations=10) == [[0, 1, 2, 3, 4]]


def test_mask_predict_masks_the_least_confident(xp: ModuleType) -> None:
    assert masked_places(xp, "mask_predict", iterations=3) == [[0, 1, 2, 3, 4], [0, 2, 4], [2]]


@pytest.mark.parametrize("strategy", ["easy_first", "left_to_right", "random_order"])
@pytest.mark.parametrize("iterations", [1, 10, "N"])
def test_one_token_a_pass_takes_as_many_passes_as_tokens(xp: ModuleType, strategy: str, iterations: Iterations) -> None:
    assert STRATEGIES[strategy].count(xp.asarray([3, 8, 1]), iterations).tolist() == [3, 8, 1]


def test_N_iterations_are_each_rows_own_number_of_tokens(xp: ModuleType) -> None:
    assert STRATEGIES["mask_predict"].count(xp.asarray([3, 8, 1]), "N").tolist() == [3, 8, 1]
    assert STRATEGIES["mask_predict"].count(xp.asarray([3, 8, 1]), 4).tolist() == [4, 4, 4]


def test_a_row_without_a_place_to_fill_counts_as_one_pass(xp: ModuleType) -> None:
    assert STRATEGIES["easy_first"].count(xp.asarray([0, 1, 2]), 10).tolist() == [1, 1, 2]
    assert STRATEGIES["mask_predict"].count(xp.asarray([0, 1, 2]), "N").tolist() == [1, 1, 2]


Place = tuple[float, bool, bool]
"""Log-probability, whether the place is free, and whether it was masked before."""
PLACE = st.tuples(st.sampled_from([-2.0, -1.0, -0.5, -0.1, 0.0]), st.booleans(), st.booleans())


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(
    st.integers(1, 12).flatmap(
        lambda width: st.lists(st.lists(PLACE, min_size=width, max_size=width), min_size=1, max_size=4)
    ),
    st.integers(1, 9),
)
@settings(max_examples=60, deadline=None)
def test_numpy_and_pytorch_mask_the_same_places(strategy: str, rows: list[list[Place]], t: int) -> None:
    def chosen(xp: ModuleType) -> list[list[bool]]:
        log_probs_BT = xp.asarray([[log_prob for log_prob, _, _ in row] for row in rows], dtype=xp.float32)
        free_BT = xp.asarray([[free for _, free, _ in row] for row in rows])
        masked_BT = xp.asarray([[free and masked for _, free, masked in row] for row in rows])
        step = Step(t, xp.full((len(rows),), 10), log_probs_BT, masked_BT, free_BT, xp.zeros_like(masked_BT))
        masked: list[list[bool]] = STRATEGIES[strategy].strategy(step).tolist()
        return masked

    by_numpy = chosen(numpy_arrays)
    assert by_numpy == chosen(torch_arrays)
    for row, masked in zip(rows, by_numpy, strict=True):
        assert all(free for (_, free, _), is_masked in zip(row, masked, strict=True) if is_masked)


def test_the_same_share_of_words_as_of_blanks_is_masked_the_least_confident_of_each(xp: ModuleType) -> None:
    blank, word = 1, 7
    tokens_BT = xp.asarray([[word, blank, word, blank, word, blank, word, blank, blank]])
    log_probs_BT = xp.asarray([[-3.0, -0.1, -2.0, -0.2, -1.0, -0.4, -2.0, -0.3, -0.5]])
    free_BT = xp.asarray([[True] * 8 + [False]])
    chosen = []
    for t in (1, 2, 3):
        step = Step(t, xp.asarray([4]), log_probs_BT, free_BT, free_BT, tokens_BT, blank)
        chosen.append(places(STRATEGIES["words_and_blanks"].strategy(step)[0]))
    assert chosen == [[0, 2, 3, 5, 6, 7], [0, 2, 5, 7], [0, 5]]


def test_without_blanks_it_is_mask_predict(xp: ModuleType) -> None:
    log_probs_BT, free_BT = xp.asarray([[-3.0, -1.0, -2.0, -1.0]]), xp.asarray([[True] * 4])
    step = Step(2, xp.asarray([4]), log_probs_BT, free_BT, free_BT, xp.asarray([[7, 1, 8, 1]]))
    chosen = [STRATEGIES[name].strategy(step)[0] for name in ("words_and_blanks", "mask_predict")]
    assert places(chosen[0]) == places(chosen[1]) == [0, 2]


def test_blocks_fix_one_position_of_every_t_each_pass(xp: ModuleType) -> None:
    log_probs_BT = xp.asarray([[-3.0, -1.0, -2.0, -1.0, -1.0, -5.0, -0.5, -4.0]])
    free_BT = xp.asarray([[True] * 7 + [False]])
    masked_BT, history = free_BT, []
    for t in (1, 2):
        step = Step(t, xp.asarray([3]), log_probs_BT, masked_BT, free_BT, masked_BT)
        masked_BT = STRATEGIES["blocks"].strategy(step)
        history.append(places(masked_BT[0]))
    assert history == [[0, 2, 4, 5], [0, 5]]  # blocks of three: 0 to 2, 3 to 5, and 6


def places(masked_T: Array) -> list[int]:
    """Indices where True."""
    return [place for place, masked in enumerate(masked_T.tolist()) if masked]
