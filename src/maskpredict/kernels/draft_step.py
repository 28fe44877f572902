"""The functions of `engines/cuda/draft_step_reference.py` as one GPU kernel each (Triton)."""

from __future__ import annotations

import math

import triton
import triton.language as tl
from torch import Tensor

from maskpredict.kernels.fixed_drafts import Blank, FixedDrafts
from maskpredict.kernels.pdl import allow_next_kernel, launch_options, wait_for_previous_kernel
from maskpredict.kernels.reference import BlockBests

MAX_WIDTH = 128
"""Positions of the widest draft: a program compares all pairs of them."""
MAX_TILE_NUMBERS = 2048
"""Block maxima that a program loads at once."""


@triton.jit(do_not_specialize=["width", "classes", "candidates", "passes", "shortest", "longest", "pad", "mask_id"])
def _begin(  # type: ignore[no-untyped-def]
    SCORES, TOKENS, LOG_PROBS, LENGTH_SCORES, LENGTHS, USED, PRUNED, INPUTS, MASKED, PLACES, PASSES,
    width, classes, candidates, passes, shortest, longest, pad, mask_id,
    WIDTH: tl.constexpr, CLASSES: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    sentence, place, of_class = tl.program_id(0), tl.arange(0, WIDTH), tl.arange(0, CLASSES)
    valid = of_class < classes
    wait_for_previous_kernel(PDL)
    allow_next_kernel(PDL)
    scores = tl.load(SCORES + sentence * classes + of_class, mask=valid, other=float("-inf")).to(tl.float32)
    for candidate in range(candidates):
        likeliest = tl.argmax(scores, 0)
        scores = tl.where(of_class == likeliest, float("-inf"), scores)
        length = tl.minimum(tl.maximum(likeliest, shortest), longest)
        draft = sentence * candidates + candidate
        tl.store(LENGTHS + draft, length)
        tl.store(LENGTH_SCORES + draft, tl.load(SCORES + sentence * classes + tl.minimum(length, classes - 1)))
        tl.store(USED + draft, 0)
        tl.store(PRUNED + draft, 0)
        tl.store(PASSES + draft, passes)
        out, inside = draft * width + place, place < width
        token = tl.where(place < length, mask_id, pad)
        tl.store(TOKENS + out, token, mask=inside)
        tl.store(INPUTS + out, token, mask=inside)
        tl.store(LOG_PROBS + out, tl.zeros((WIDTH,), tl.float32), mask=inside)
        tl.store(MASKED + out, tl.where(place < length, 1 + place, 0), mask=inside)
        tl.store(PLACES + out, out, mask=inside)


@triton.jit(do_not_specialize=["width", "times", "passes", "pad", "mask_id"])
def _begin_alignments(  # type: ignore[no-untyped-def]
    SOURCE_LENGTHS, TOKENS, LOG_PROBS, LENGTH_SCORES, LENGTHS, USED, PRUNED, INPUTS, MASKED, PLACES, PASSES,
    width, times, passes, pad, mask_id, WIDTH: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    draft, place = tl.program_id(0), tl.arange(0, WIDTH)
    wait_for_previous_kernel(PDL)
    allow_next_kernel(PDL)
    length = times * tl.load(SOURCE_LENGTHS + draft).to(tl.int32)
    tl.store(LENGTHS + draft, length)
    tl.store(LENGTH_SCORES + draft, 0.0)
    tl.store(USED + draft, 0)
    tl.store(PRUNED + draft, 0)
    tl.store(PASSES + draft, passes)
    out, inside = draft * width + place, place < width
    token = tl.where(place < length, mask_id, pad)
    tl.store(TOKENS + out, token, mask=inside)
    tl.store(INPUTS + out, token, mask=inside)
    tl.store(LOG_PROBS + out, tl.zeros((WIDTH,), tl.float32), mask=inside)
    tl.store(MASKED + out, tl.where(place < length, 1 + place, 0), mask=inside)
    tl.store(PLACES + out, out, mask=inside)


@triton.jit
def _best(HIGHEST, TOTAL, TOKEN, row, inside, rows, blocks, WIDTH: tl.constexpr, CHUNK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return token and log-probability of the best over all blocks, for a tile of rows."""
    highest = tl.full((WIDTH,), float("-inf"), tl.float32)
    total = tl.zeros((WIDTH,), tl.float32)
    token = tl.zeros((WIDTH,), tl.int32)
    number = tl.arange(0, CHUNK)[:, None]
    for first in range(0, blocks, CHUNK):
        valid = (first + number < blocks) & inside[None, :]
        place = (first + number) * rows + row[None, :]
        value = tl.load(HIGHEST + place, mask=valid, other=float("-inf"))
        block_total = tl.load(TOTAL + place, mask=valid, other=0.0)
        candidate = tl.load(TOKEN + place, mask=valid, other=0)
        chunk_highest, index = tl.max(value, 0, return_indices=True)
        best = tl.sum(tl.where(number == index[None, :], candidate, 0), 0)
        token = tl.where(chunk_highest > highest, best, token)
        higher = tl.maximum(highest, chunk_highest)
        base = tl.where(higher == float("-inf"), 0.0, higher)
        total = total * tl.exp(highest - base) + tl.sum(block_total * tl.exp(value - base[None, :]), 0)
        highest = higher
    return token, -tl.log(total)


@triton.jit(do_not_specialize=["t", "width", "predicted", "blocks", "mask_id", "blank_id"])
def _between_passes(  # type: ignore[no-untyped-def]
    HIGHEST, TOTAL, TOKEN, TOKENS, LOG_PROBS, LENGTHS, USED, INPUTS, MASKED, PLACES, PASSES,
    t, width, predicted, blocks, mask_id, blank_id, log_threshold,
    WIDTH: tl.constexpr, CHUNK: tl.constexpr, TAKE: tl.constexpr, MASK: tl.constexpr, BLANKS: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    draft, place = tl.program_id(0), tl.arange(0, WIDTH)
    row, inside = draft * width + place, place < width
    wait_for_previous_kernel(PDL)
    allow_next_kernel(PDL)
    # All loads first: a load after a reduction adds its latency.
    number = tl.load(MASKED + row, mask=inside, other=0)
    token = tl.load(TOKENS + row, mask=inside, other=0)
    log_prob = tl.load(LOG_PROBS + row, mask=inside, other=0.0)
    length, passes, used = tl.load(LENGTHS + draft), tl.load(PASSES + draft), tl.load(USED + draft)
    if TAKE:
        masked, predicted_row = number != 0, draft * predicted + number - 1
        rows = tl.num_programs(0) * predicted
        best, best_log_prob = _best(HIGHEST, TOTAL, TOKEN, predicted_row, masked, rows, blocks, WIDTH, CHUNK)
        if BLANKS:
            best = tl.where(best == mask_id, blank_id, best)
        token = tl.where(masked, best, token)
        log_prob = tl.where(masked, best_log_prob, log_prob)
        tl.store(TOKENS + row, token, mask=inside)
        tl.store(LOG_PROBS + row, log_prob, mask=inside)
        tl.store(USED + draft, used + tl.max(masked.to(tl.int32), 0))
    if MASK:
        length = tl.minimum(length, width)
        free = place < length
        confidence = tl.where(free, log_prob, float("inf"))
        less = confidence[None, :] < confidence[:, None]
        left_of_equal = (confidence[None, :] == confidence[:, None]) & (place[None, :] < place[:, None])
        before, size = less | left_of_equal, length
        if BLANKS:  # words compete with words, and blanks with blanks
            blank = (free & (token == blank_id)).to(tl.int32)
            blanks = tl.sum(blank, 0)
            before = before & (blank[None, :] == blank[:, None])
            size = tl.where(blank != 0, blanks, length - blanks)
        count = tl.maximum(size * (passes - t) // passes, 1)
        rank = tl.sum(before.to(tl.int32), 1)
        masked = free & (rank < count) & (t < passes) & (log_prob < log_threshold)
        tl.store(INPUTS + row, tl.where(masked, mask_id, token), mask=inside)
        number, masks = tl.cumsum(masked.to(tl.int32), 0), tl.sum(masked.to(tl.int32), 0)
        tl.store(MASKED + row, tl.where(masked, number, 0), mask=inside)
        tl.store(PLACES + draft * width + tl.where(masked, number - 1, masks + place - number), row, mask=inside)


def begin(
    drafts: FixedDrafts, scores_BC: Tensor, passes: int, shortest: int, longest: int, pad: int, mask: int
) -> None:
    """As in `draft_step_reference`."""
    sentences, classes = scores_BC.shape
    rows, width = drafts.tokens_RW.shape
    assert scores_BC.is_contiguous()
    _begin[(sentences,)](
        scores_BC, drafts.tokens_RW, drafts.log_probs_RW, drafts.length_scores_R, drafts.lengths_R, drafts.used_R,
        drafts.pruned_R, drafts.inputs_RW, drafts.masked_RW, drafts.places_RW, drafts.passes_R,
        width, classes, rows // sentences, passes, shortest, longest, pad, mask,
        triton.next_power_of_2(width), triton.next_power_of_2(classes), **launch_options(scores_BC),
    )  # fmt: skip


def begin_alignments(drafts: FixedDrafts, lengths_B: Tensor, times: int, passes: int, pad: int, mask: int) -> None:
    """As in `draft_step_reference`."""
    rows, width = drafts.tokens_RW.shape
    _begin_alignments[(rows,)](
        lengths_B, drafts.tokens_RW, drafts.log_probs_RW, drafts.length_scores_R, drafts.lengths_R, drafts.used_R,
        drafts.pruned_R, drafts.inputs_RW, drafts.masked_RW, drafts.places_RW, drafts.passes_R,
        width, times, passes, pad, mask, triton.next_power_of_2(width), **launch_options(lengths_B),
    )  # fmt: skip


def take_predictions(drafts: FixedDrafts, bests: BlockBests, blank: Blank | None = None) -> None:
    """As in `draft_step_reference`."""
    _launch(drafts, bests, None, 0 if blank is None else blank.predicted, None, blank)


def mask_again(drafts: FixedDrafts, t: int, mask: int, threshold: float | None, blank: Blank | None = None) -> None:
    """As in `draft_step_reference`."""
    _launch(drafts, None, t, mask, threshold, blank)


def take_and_mask_again(
    drafts: FixedDrafts, bests: BlockBests, t: int, mask: int, threshold: float | None, blank: Blank | None = None
) -> None:
    """As in `draft_step_reference`."""
    _launch(drafts, bests, t, mask, threshold, blank)


def _launch(
    drafts: FixedDrafts,
    bests: BlockBests | None,
    t: int | None,
    mask: int,
    threshold: float | None,
    blank: Blank | None,
) -> None:
    rows, width = drafts.tokens_RW.shape
    assert width <= MAX_WIDTH
    whole = max(16, triton.next_power_of_2(width))
    # Without predictions, these are placeholders for pointers that the kernel does not use.
    highest, total, token = drafts.log_probs_RW, drafts.log_probs_RW, drafts.tokens_RW
    if bests is not None:
        highest, total, token = bests.highest_GN, bests.total_GN, bests.token_GN
    blocks, predicted = (0, 0) if bests is None else (len(highest), highest.shape[1] // rows)
    log_threshold = math.inf if threshold is None else math.log(threshold)
    _between_passes[(rows,)](
        highest, total, token, drafts.tokens_RW, drafts.log_probs_RW, drafts.lengths_R, drafts.used_R, drafts.inputs_RW,
        drafts.masked_RW, drafts.places_RW, drafts.passes_R,
        t or 0, width, predicted, blocks, mask, 0 if blank is None else blank.shown, log_threshold,
        whole, max(1, MAX_TILE_NUMBERS // whole), bests is not None, t is not None, blank is not None, num_warps=8,
        **launch_options(drafts.tokens_RW),
    )  # fmt: skip
