"""Mask-predict against a slow, row-by-row reading of the paper's section 3, on an invented model.

With NumPy's arrays and with PyTorch's: `xp` is the one library or the other.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import ModuleType
from typing import Any

import array_api_compat.numpy as numpy_arrays
import array_api_compat.torch as torch_arrays
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskpredict.decoding.arrays import Array, array_namespace
from maskpredict.decoding.mask_predict import Decoded, Step, least_confident, mask_predict

MASK, PAD, VOCABULARY = 4, 0, 12
PROBABILITIES = (0.1, 0.25, 0.25, 0.5, 0.9)
"""Few values, so that ties are common."""


def invented_model(tokens: Sequence[int], place: int) -> tuple[int, float]:
    """A prediction that depends on every token of the row and on the place, like a model's, but is never learned."""
    chance = random.Random(f"{list(tokens)} {place}")
    return chance.randrange(5, VOCABULARY), math.log(chance.choice(PROBABILITIES))


@dataclass
class Inputs:
    """`predict` for a batch of rows, which remembers what it was shown."""

    lengths: list[int]
    passes: int = 0
    seen: list[tuple[Array, Array]] = field(default_factory=list)

    def predict(self, tokens_BT: Array, masked_BT: Array) -> tuple[Array, Array]:
        xp = array_namespace(tokens_BT)
        self.passes += 1
        self.seen.append((tokens_BT, masked_BT))
        # What is said of unmasked positions must not be read: say nonsense there.
        best_BT = xp.full_like(tokens_BT, -1)
        log_probs_BT = xp.full(tokens_BT.shape, -math.inf, dtype=xp.float32)
        for row, length in enumerate(self.lengths):
            for place in range(length):
                if masked_BT[row, place]:
                    token, log_prob = invented_model(tokens_BT[row, :length].tolist(), place)
                    best_BT[row, place], log_probs_BT[row, place] = token, log_prob
        return best_BT, log_probs_BT


def by_the_book(length: int, passes: int, pinned: dict[int, int]) -> tuple[list[int], list[float], list[list[int]]]:
    """One row, in plain Python: tokens, log-probabilities, and the places masked in each pass."""
    y = [pinned.get(i, MASK) for i in range(length)]
    p = [0.0] * length
    free = [i for i in range(length) if i not in pinned]
    masked_places = []
    for t in range(passes):
        if t == 0:
            masked = list(free)
        else:
            n = max(1, math.floor(len(free) * (passes - t) / passes + 1e-9))
            masked = sorted(sorted(free, key=lambda i: (p[i], i))[:n])
        shown = [MASK if i in masked else y[i] for i in range(length)]
        for i in masked:
            y[i], p[i] = invented_model(shown, i)
        masked_places.append(masked)
    return y, p, masked_places


def batch_of(
    xp: ModuleType, lengths: list[int], pins: list[dict[int, int]] | None = None, extra_width: int = 0
) -> tuple[Array, Array]:
    """Draft and free positions, padded to more than the longest row."""
    width = max(lengths) + extra_width
    rows = [
        [pinned.get(i, MASK) for i in range(length)] + [PAD] * (width - length)
        for length, pinned in zip(lengths, pins or [{} for _ in lengths], strict=True)
    ]
    draft_BT = xp.asarray(rows)
    return draft_BT, draft_BT == MASK


def run(
    xp: ModuleType,
    lengths: list[int],
    passes: list[int],
    pins: list[dict[int, int]] | None = None,
    extra_width: int = 0,
) -> tuple[Decoded, Inputs]:
    draft_BT, free_BT = batch_of(xp, lengths, pins, extra_width)
    inputs = Inputs(lengths)
    return mask_predict(inputs.predict, draft_BT, free_BT, xp.asarray(passes), MASK), inputs


def places(masked_T: Array) -> list[int]:
    """The places where a row is masked."""
    return [place for place, masked in enumerate(masked_T.tolist()) if masked]


def same(one: Decoded, other: Decoded) -> bool:
    """True when two results are equal to the last bit, whichever libraries their arrays are of."""
    return all(getattr(one, name).tolist() == getattr(other, name).tolist() for name in one.__dataclass_fields__)


@st.composite
def rows(draw: st.DrawFn) -> tuple[int, int, dict[int, int]]:
    """A length, a number of passes, and pins that leave at least one position free."""
    length = draw(st.integers(1, 12))
    pinned = draw(st.sets(st.integers(0, length - 1), max_size=length - 1)) if length > 1 else set()
    return length, draw(st.integers(1, 14)), {place: draw(st.integers(5, VOCABULARY - 1)) for place in sorted(pinned)}


@given(st.lists(rows(), min_size=1, max_size=5), st.integers(0, 5))
@settings(max_examples=150, deadline=None)
def test_a_batch_gives_what_the_paper_says_row_by_row(
    xp: ModuleType, cases: list[tuple[int, int, dict[int, int]]], extra_width: int
) -> None:
    lengths, passes, pins = [c[0] for c in cases], [c[1] for c in cases], [c[2] for c in cases]
    decoded, inputs = run(xp, lengths, passes, pins, extra_width)
    for row, (length, count, pinned) in enumerate(cases):
        y, p, masked_places = by_the_book(length, count, pinned)
        assert decoded.tokens_BT[row, :length].tolist() == y
        assert decoded.log_probs_BT[row, :length].tolist() == pytest.approx(p)
        assert decoded.passes_B[row] == count
        masked_in_pass = [places(masked_BT[row]) for _, masked_BT in inputs.seen]
        assert masked_in_pass == masked_places + [[]] * (max(passes) - count)


@given(
    st.lists(rows(), min_size=1, max_size=5),
    st.fixed_dictionaries({"stop_when_stable": st.booleans(), "threshold": st.sampled_from([None, *PROBABILITIES])}),
)
@settings(max_examples=150, deadline=None)
def test_numpy_and_pytorch_give_equal_results(
    cases: list[tuple[int, int, dict[int, int]]], early_exit: dict[str, Any]
) -> None:
    lengths, passes, pins = [c[0] for c in cases], [c[1] for c in cases], [c[2] for c in cases]

    def history(xp: ModuleType) -> list[Decoded]:
        actual: list[Decoded] = []
        draft_BT, free_BT = batch_of(xp, lengths, pins)
        predict = Inputs(lengths).predict
        mask_predict(predict, draft_BT, free_BT, xp.asarray(passes), MASK, watch=actual.append, **early_exit)
        return actual

    for one, other in zip(history(numpy_arrays), history(torch_arrays), strict=True):
        assert same(one, other)


@pytest.mark.parametrize("size", [1, 2, 7, 10, 23])
@pytest.mark.parametrize("passes", [1, 4, 10, 30])
def test_mask_count_is_floor_of_N_times_T_minus_t_over_T_but_at_least_one(
    xp: ModuleType, size: int, passes: int
) -> None:
    _, inputs = run(xp, [size], [passes])
    counts = [len(places(masked_BT[0])) for _, masked_BT in inputs.seen]
    assert counts == [size] + [max(1, size * (passes - t) // passes) for t in range(1, passes)]


def test_a_draft_without_a_place_to_fill_in_stays_as_it_is(xp: ModuleType) -> None:
    draft_BT = xp.asarray([[7, 8], [9, PAD]])
    decoded = mask_predict(Inputs([2, 1]).predict, draft_BT, draft_BT == MASK, xp.asarray([3, 3]), MASK)
    assert decoded.tokens_BT.tolist() == [[7, 8], [9, PAD]]
    assert decoded.passes_B.tolist() == [0, 0]
    assert not xp.any(decoded.masked_BT)


def test_ties_are_broken_leftmost_first(xp: ModuleType) -> None:
    log_probs_BT = xp.asarray([[-1.0, -2.0, -1.0, -2.0, -1.0, -1.0]])
    free_BT = xp.ones((1, 6), dtype=xp.bool)
    masked = [
        places(least_confident(Step(t, xp.asarray([6]), log_probs_BT, free_BT, free_BT, free_BT))[0])
        for t in range(1, 6)
    ]
    assert masked == [[0, 1, 2, 3, 4], [0, 1, 2, 3], [0, 1, 3], [1, 3], [1]]


def test_ties_in_a_long_row_are_still_broken_leftmost_first(xp: ModuleType) -> None:
    # Sorting algorithms change with the size; an unstable one would show only here.
    free_BT = xp.ones((3, 500), dtype=xp.bool)
    step = Step(1, xp.asarray([2, 4, 5]), xp.zeros((3, 500)), free_BT, free_BT, free_BT)
    for row, count in zip(least_confident(step), (250, 375, 400), strict=True):
        assert places(row) == list(range(count))


def test_unmasked_tokens_and_probabilities_stay_stale(xp: ModuleType) -> None:
    history: list[Decoded] = []
    draft_BT, free_BT = batch_of(xp, [9])
    mask_predict(Inputs([9]).predict, draft_BT, free_BT, xp.asarray([5]), MASK, watch=history.append)
    assert len(history) == 5
    for before, after in pairwise(history):
        kept_BT = ~after.masked_BT
        assert xp.any(kept_BT)
        assert xp.all(before.tokens_BT[kept_BT] == after.tokens_BT[kept_BT])
        assert xp.all(before.log_probs_BT[kept_BT] == after.log_probs_BT[kept_BT])


@pytest.mark.parametrize("passes", [1, 2, 4, 10])
@pytest.mark.parametrize("size", [1, 3, 12])
def test_exactly_T_decoder_passes(xp: ModuleType, size: int, passes: int) -> None:
    decoded, inputs = run(xp, [size, size], [passes, passes])
    assert inputs.passes == passes
    assert decoded.passes_B.tolist() == [passes, passes]


def test_T_may_be_N_per_sentence_not_the_batch_maximum(xp: ModuleType) -> None:
    lengths = [3, 8, 5]
    together, inputs = run(xp, lengths, lengths)
    assert together.passes_B.tolist() == lengths
    assert inputs.passes == 8
    for row, length in enumerate(lengths):
        alone, _ = run(xp, [length], [length])
        assert together.tokens_BT[row, :length].tolist() == alone.tokens_BT[0].tolist()


def test_the_first_pass_sees_nothing_but_masks(xp: ModuleType) -> None:
    _, inputs = run(xp, [4, 6], [3, 3])
    tokens_BT, masked_BT = inputs.seen[0]
    assert tokens_BT.tolist() == [[MASK] * 4 + [PAD] * 2, [MASK] * 6]
    assert masked_BT.tolist() == [[True] * 4 + [False] * 2, [True] * 6]


def test_log_probabilities_are_kept_in_float32_whatever_the_model_computes_in(xp: ModuleType) -> None:
    draft_BT, free_BT = batch_of(xp, [5])
    for name in ("float16", "bfloat16", "float64"):
        dtype = getattr(xp, name, xp.float16)  # NumPy has no bfloat16

        def predict(tokens_BT: Array, masked_BT: Array, dtype: Any = dtype) -> tuple[Array, Array]:
            best_BT, log_probs_BT = Inputs([5]).predict(tokens_BT, masked_BT)
            return best_BT, xp.astype(log_probs_BT, dtype)

        decoded = mask_predict(predict, draft_BT, free_BT, xp.asarray([3]), MASK)
        assert decoded.log_probs_BT.dtype == xp.float32


def test_pinned_and_padded_positions_are_never_touched(xp: ModuleType) -> None:
    decoded, inputs = run(xp, [6, 4], [4, 4], [{0: 9, 3: 8}, {3: 7}], extra_width=2)
    assert decoded.tokens_BT[0, [0, 3]].tolist() == [9, 8]
    assert decoded.tokens_BT[1, 3] == 7
    assert xp.all(decoded.tokens_BT[1, 4:] == PAD)
    assert not any(masked_BT[0, 0] or xp.any(masked_BT[1, 3:]) for _, masked_BT in inputs.seen)
    assert decoded.log_probs_BT[0, [0, 3]].tolist() == [0.0, 0.0]


def settled_model(tokens_BT: Array, masked_BT: Array) -> tuple[Array, Array]:
    """Says the same at every pass, less surely the further right."""
    xp = array_namespace(tokens_BT)
    place_BT = xp.broadcast_to(xp.arange(tokens_BT.shape[1]), tokens_BT.shape)
    return 5 + place_BT, -0.1 * xp.astype(place_BT, xp.float32) - 0.01


@pytest.mark.parametrize("early_exit", [{"stop_when_stable": True}, {"threshold": 0.2}])
def test_early_exit_saves_passes_once_nothing_changes(xp: ModuleType, early_exit: dict[str, Any]) -> None:
    draft_BT, free_BT = batch_of(xp, [8])
    calls = []

    def predict(tokens_BT: Array, masked_BT: Array) -> tuple[Array, Array]:
        calls.append(masked_BT)
        return settled_model(tokens_BT, masked_BT)

    decoded = mask_predict(predict, draft_BT, free_BT, xp.asarray([8]), MASK, **early_exit)
    assert len(calls) == int(decoded.passes_B[0])
    # A stable pass must be seen before it can end the row; a sure first pass needs no second one.
    assert len(calls) == (2 if "stop_when_stable" in early_exit else 1)
    assert decoded.tokens_BT[0].tolist() == list(range(5, 13))


def test_a_threshold_keeps_sure_tokens_from_being_masked_again(xp: ModuleType) -> None:
    draft_BT, free_BT = batch_of(xp, [8])
    history: list[Decoded] = []
    mask_predict(
        settled_model,
        draft_BT,
        free_BT,
        xp.asarray([2]),
        MASK,
        threshold=math.exp(-0.55),
        watch=history.append,
    )
    assert places(history[1].masked_BT[0]) == [6, 7]


@given(st.lists(st.integers(1, 10), min_size=1, max_size=4), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_a_threshold_of_one_that_is_never_reached_changes_nothing(
    xp: ModuleType, lengths: list[int], passes: int
) -> None:
    draft_BT, free_BT = batch_of(xp, lengths)
    passes_B = xp.full((len(lengths),), passes)
    plain = mask_predict(Inputs(lengths).predict, draft_BT, free_BT, passes_B, MASK)
    guarded = mask_predict(Inputs(lengths).predict, draft_BT, free_BT, passes_B, MASK, threshold=1.0)
    assert same(plain, guarded)


@given(st.lists(st.integers(1, 10), min_size=2, max_size=5), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_a_row_that_stops_early_does_so_in_any_batch(xp: ModuleType, lengths: list[int], passes: int) -> None:
    def decode(own: list[int]) -> Decoded:
        draft_BT, free_BT = batch_of(xp, own)
        passes_B = xp.full((len(own),), passes)
        return mask_predict(Inputs(own).predict, draft_BT, free_BT, passes_B, MASK, stop_when_stable=True)

    together = decode(lengths)
    for row, length in enumerate(lengths):
        alone = decode([length])
        assert together.tokens_BT[row, :length].tolist() == alone.tokens_BT[0].tolist()
        assert together.passes_B[row] == alone.passes_B[0]


def test_a_row_with_nothing_to_fill_in_is_left_as_it_is(xp: ModuleType) -> None:
    decoded, _ = run(xp, [3, 2], [4, 4], [{0: 5, 1: 6, 2: 7}, {}])
    assert decoded.tokens_BT[0].tolist() == [5, 6, 7]
    assert decoded.passes_B.tolist() == [0, 4]
