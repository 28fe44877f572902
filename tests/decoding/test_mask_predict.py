"""Mask-predict against a slow, row-by-row reading of the paper's section 3, on an invented model."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

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
    seen: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    def predict(self, tokens_BT: Tensor, masked_BT: Tensor) -> tuple[Tensor, Tensor]:
        self.passes += 1
        self.seen.append((tokens_BT, masked_BT))
        # What is said of unmasked positions must not be read: say nonsense there.
        best_BT = torch.full_like(tokens_BT, -1)
        log_probs_BT = torch.full(tokens_BT.shape, -math.inf)
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


def batch_of(lengths: list[int], pins: list[dict[int, int]], extra_width: int) -> tuple[Tensor, Tensor]:
    """Draft and free positions, padded to more than the longest row."""
    draft_BT = torch.full((len(lengths), max(lengths) + extra_width), PAD)
    for row, (length, pinned) in enumerate(zip(lengths, pins, strict=True)):
        draft_BT[row, :length] = torch.tensor([pinned.get(i, MASK) for i in range(length)])
    return draft_BT, draft_BT == MASK


def run(
    lengths: list[int], passes: list[int], pins: list[dict[int, int]] | None = None, extra_width: int = 0
) -> tuple[Decoded, Inputs]:
    draft_BT, free_BT = batch_of(lengths, pins or [{} for _ in lengths], extra_width)
    inputs = Inputs(lengths)
    return mask_predict(inputs.predict, draft_BT, free_BT, torch.tensor(passes), MASK), inputs


@st.composite
def rows(draw: st.DrawFn) -> tuple[int, int, dict[int, int]]:
    """A length, a number of passes, and pins that leave at least one position free."""
    length = draw(st.integers(1, 12))
    places = draw(st.sets(st.integers(0, length - 1), max_size=length - 1)) if length > 1 else set()
    return length, draw(st.integers(1, 14)), {place: draw(st.integers(5, VOCABULARY - 1)) for place in places}


@given(st.lists(rows(), min_size=1, max_size=5), st.integers(0, 5))
@settings(max_examples=150, deadline=None)
def test_a_batch_gives_what_the_paper_says_row_by_row(
    cases: list[tuple[int, int, dict[int, int]]], extra_width: int
) -> None:
    lengths, passes, pins = [c[0] for c in cases], [c[1] for c in cases], [c[2] for c in cases]
    decoded, inputs = run(lengths, passes, pins, extra_width)
    for row, (length, count, pinned) in enumerate(cases):
        y, p, masked_places = by_the_book(length, count, pinned)
        assert decoded.tokens_BT[row, :length].tolist() == y
        assert decoded.log_probs_BT[row, :length].tolist() == pytest.approx(p)
        assert decoded.passes_B[row] == count
        masked_in_pass = [masked_BT[row].nonzero()[:, 0].tolist() for _, masked_BT in inputs.seen]
        assert masked_in_pass == masked_places + [[]] * (max(passes) - count)


@pytest.mark.parametrize("size", [1, 2, 7, 10, 23])
@pytest.mark.parametrize("passes", [1, 4, 10, 30])
def test_mask_count_is_floor_of_N_times_T_minus_t_over_T_but_at_least_one(size: int, passes: int) -> None:
    _, inputs = run([size], [passes])
    counts = [int(masked_BT.sum()) for _, masked_BT in inputs.seen]
    assert counts == [size] + [max(1, size * (passes - t) // passes) for t in range(1, passes)]


def test_ties_are_broken_leftmost_first() -> None:
    log_probs_BT = torch.tensor([[-1.0, -2.0, -1.0, -2.0, -1.0, -1.0]])
    free_BT = torch.ones(1, 6, dtype=torch.bool)
    masked = [
        least_confident(Step(t, torch.tensor([6]), log_probs_BT, free_BT, free_BT))[0].nonzero()[:, 0].tolist()
        for t in range(1, 6)
    ]
    assert masked == [[0, 1, 2, 3, 4], [0, 1, 2, 3], [0, 1, 3], [1, 3], [1]]


def test_ties_in_a_long_row_are_still_broken_leftmost_first() -> None:
    # Sorting algorithms change with the size; an unstable one would show only here.
    free_BT = torch.ones(3, 500, dtype=torch.bool)
    step = Step(1, torch.tensor([2, 4, 5]), torch.zeros(3, 500), free_BT, free_BT)
    for row, count in zip(least_confident(step), (250, 375, 400), strict=True):
        assert row.nonzero()[:, 0].tolist() == list(range(count))


def test_unmasked_tokens_and_probabilities_stay_stale() -> None:
    history: list[tuple[Tensor, Decoded]] = []
    draft_BT, free_BT = batch_of([9], [{}], 0)
    mask_predict(
        Inputs([9]).predict,
        draft_BT,
        free_BT,
        torch.tensor([5]),
        MASK,
        watch=lambda masked_BT, decoded: history.append((masked_BT, decoded)),
    )
    for (_, before), (masked_BT, after) in pairwise(history):
        kept_BT = ~masked_BT
        assert kept_BT.any()
        assert torch.equal(before.tokens_BT[kept_BT], after.tokens_BT[kept_BT])
        assert torch.equal(before.log_probs_BT[kept_BT], after.log_probs_BT[kept_BT])


@pytest.mark.parametrize("passes", [1, 2, 4, 10])
@pytest.mark.parametrize("size", [1, 3, 12])
def test_exactly_T_decoder_passes(size: int, passes: int) -> None:
    decoded, inputs = run([size, size], [passes, passes])
    assert inputs.passes == passes
    assert decoded.passes_B.tolist() == [passes, passes]


def test_T_may_be_N_per_sentence_not_the_batch_maximum() -> None:
    lengths = [3, 8, 5]
    together, inputs = run(lengths, lengths)
    assert together.passes_B.tolist() == lengths
    assert inputs.passes == 8
    for row, length in enumerate(lengths):
        alone, _ = run([length], [length])
        assert together.tokens_BT[row, :length].tolist() == alone.tokens_BT[0].tolist()


def test_the_first_pass_sees_nothing_but_masks() -> None:
    _, inputs = run([4, 6], [3, 3])
    tokens_BT, masked_BT = inputs.seen[0]
    assert tokens_BT.tolist() == [[MASK] * 4 + [PAD] * 2, [MASK] * 6]
    assert masked_BT.tolist() == [[True] * 4 + [False] * 2, [True] * 6]


def test_log_probabilities_are_kept_in_float32_whatever_the_model_computes_in() -> None:
    draft_BT, free_BT = batch_of([5], [{}], 0)

    def half(tokens_BT: Tensor, masked_BT: Tensor) -> tuple[Tensor, Tensor]:
        best_BT, log_probs_BT = Inputs([5]).predict(tokens_BT, masked_BT)
        return best_BT, log_probs_BT.to(torch.bfloat16)

    decoded = mask_predict(half, draft_BT, free_BT, torch.tensor([3]), MASK)
    assert decoded.log_probs_BT.dtype == torch.float32


def test_pinned_and_padded_positions_are_never_touched() -> None:
    decoded, inputs = run([6, 4], [4, 4], [{0: 9, 3: 8}, {3: 7}], extra_width=2)
    assert decoded.tokens_BT[0, [0, 3]].tolist() == [9, 8]
    assert decoded.tokens_BT[1, 3] == 7
    assert (decoded.tokens_BT[1, 4:] == PAD).all()
    assert not any(masked_BT[0, 0] or masked_BT[1, 3:].any() for _, masked_BT in inputs.seen)
    assert decoded.log_probs_BT[0, [0, 3]].tolist() == [0.0, 0.0]


def settled_model(tokens_BT: Tensor, masked_BT: Tensor) -> tuple[Tensor, Tensor]:
    """Says the same at every pass, less surely the further right."""
    places = torch.arange(tokens_BT.shape[1])
    return (5 + places).expand_as(tokens_BT), (-0.1 * places - 0.01).expand(tokens_BT.shape)


@pytest.mark.parametrize("early_exit", [{"stop_when_stable": True}, {"threshold": 0.2}])
def test_early_exit_saves_passes_once_nothing_changes(early_exit: dict[str, float]) -> None:
    draft_BT, free_BT = batch_of([8], [{}], 0)
    calls = []

    def predict(tokens_BT: Tensor, masked_BT: Tensor) -> tuple[Tensor, Tensor]:
        calls.append(masked_BT)
        return settled_model(tokens_BT, masked_BT)

    decoded = mask_predict(predict, draft_BT, free_BT, torch.tensor([8]), MASK, **early_exit)  # type: ignore[arg-type]
    assert len(calls) == int(decoded.passes_B[0])
    # A stable pass must be seen before it can end the row; a sure first pass needs no second one.
    assert len(calls) == (2 if "stop_when_stable" in early_exit else 1)
    assert decoded.tokens_BT[0].tolist() == list(range(5, 13))


def test_a_threshold_keeps_sure_tokens_from_being_masked_again() -> None:
    draft_BT, free_BT = batch_of([8], [{}], 0)
    masks: list[Tensor] = []
    mask_predict(
        settled_model,
        draft_BT,
        free_BT,
        torch.tensor([2]),
        MASK,
        threshold=math.exp(-0.55),
        watch=lambda masked_BT, _: masks.append(masked_BT),
    )
    assert masks[1][0].nonzero()[:, 0].tolist() == [6, 7]


@given(st.lists(st.integers(1, 10), min_size=1, max_size=4), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_a_threshold_of_one_that_is_never_reached_changes_nothing(lengths: list[int], passes: int) -> None:
    draft_BT, free_BT = batch_of(lengths, [{} for _ in lengths], 0)
    passes_B = torch.full((len(lengths),), passes)
    plain = mask_predict(Inputs(lengths).predict, draft_BT, free_BT, passes_B, MASK)
    guarded = mask_predict(Inputs(lengths).predict, draft_BT, free_BT, passes_B, MASK, threshold=1.0)
    assert torch.equal(plain.tokens_BT, guarded.tokens_BT)
    assert torch.equal(plain.log_probs_BT, guarded.log_probs_BT)
    assert torch.equal(plain.passes_B, guarded.passes_B)


@given(st.lists(st.integers(1, 10), min_size=2, max_size=5), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_a_row_that_stops_early_does_so_in_any_company(lengths: list[int], passes: int) -> None:
    def decode(own: list[int]) -> Decoded:
        draft_BT, free_BT = batch_of(own, [{} for _ in own], 0)
        passes_B = torch.full((len(own),), passes)
        return mask_predict(Inputs(own).predict, draft_BT, free_BT, passes_B, MASK, stop_when_stable=True)

    together = decode(lengths)
    for row, length in enumerate(lengths):
        alone = decode([length])
        assert together.tokens_BT[row, :length].tolist() == alone.tokens_BT[0].tolist()
        assert together.passes_B[row] == alone.passes_B[0]


def test_a_row_with_nothing_to_fill_in_is_left_as_it_is() -> None:
    decoded, _ = run([3, 2], [4, 4], [{0: 5, 1: 6, 2: 7}, {}])
    assert decoded.tokens_BT[0].tolist() == [5, 6, 7]
    assert decoded.passes_B.tolist() == [0, 4]
