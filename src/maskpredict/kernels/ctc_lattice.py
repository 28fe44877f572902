"""The CTC lattice of `systems/ctc_lattice.py` on a GPU (Triton): one program per sentence loops over its positions.

A launch per position takes longer than its arithmetic. Here a sentence costs its own positions only, and its states
stay in registers: element c of a tile has the states with c words. A step needs the neighbouring element, so up to 64
elements share a warp, which exchanges them without shared memory. What the second sweep needs of the first goes through
global memory, in rows like those of `scores_NC`.

Shape letters as in `systems/ctc_lattice.py`. The host functions take the fields of `LatticeInputs` in their order.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

ELEMENTS_PER_WARP = 64
MAX_WARPS = 8
AFTER_WORD = tl.constexpr(1)
"""Back-pointer bit: of the previous states with c words, the word is better than the blank."""
IS_NEW = tl.constexpr(2)
"""Back-pointer bit: the word is not at the previous position."""
NEXT_AFTER_WORD = tl.constexpr(4)
"""Back-pointer bit: as `AFTER_WORD`, and the next word differs from the last, so that it may follow directly."""


@triton.jit
def _log_add(x, y):  # type: ignore[no-untyped-def]
    higher, lower = tl.maximum(x, y), tl.minimum(x, y)
    total = higher + tl.log(1.0 + tl.exp(lower - higher))
    return tl.where(higher == float("-inf"), higher, total)  # the sum would be NaN for two impossible states


@triton.jit
def _previous(x, c):  # type: ignore[no-untyped-def]
    """Return the element before each; -inf for the first."""
    return tl.where(c > 0, tl.gather(x, tl.maximum(c - 1, 0), 0), float("-inf"))


@triton.jit
def _next(x, c, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the element after each; -inf for the last."""
    return tl.where(c < BLOCK - 1, tl.gather(x, tl.minimum(c + 1, BLOCK - 1), 0), float("-inf"))


@triton.jit
def _at(x, c, count):  # type: ignore[no-untyped-def]
    """Return element `count` as a scalar."""
    return tl.max(tl.where(c == count, x, float("-inf")), 0)


@triton.jit
def _next_differs(WORDS, c, count):  # type: ignore[no-untyped-def]
    """Return whether the word after c words differs from the last of them."""
    has_both = (c > 0) & (c < count)
    last = tl.load(WORDS + c - 1, mask=has_both, other=0)
    return last != tl.load(WORDS + c, mask=has_both, other=1)


@triton.jit
def _row(PLACES, t, columns):  # type: ignore[no-untyped-def]
    """Return the offset of a position's row in tensors [N, C], which may exceed 32 bits."""
    return tl.load(PLACES + t).to(tl.int64) * columns


@triton.jit
def _forward_sweep(  # type: ignore[no-untyped-def]
    SCORES, PLACES, ALPHA_WORDS, ALPHA_BLANKS, length, columns, c, valid, differs, BLOCK: tl.constexpr
):
    """Store the forward log-probabilities, and return those of ending with c words."""
    word, blank = tl.full((BLOCK,), float("-inf"), tl.float32), tl.where(c == 0, 0.0, float("-inf"))
    for t in range(length):
        row = _row(PLACES, t, columns)
        scores = tl.load(SCORES + row + c, mask=valid, other=float("-inf"))
        either = _log_add(word, blank)
        word = _log_add(word, _previous(tl.where(differs, either, blank), c)) + scores
        blank = either + tl.load(SCORES + row)
        tl.store(ALPHA_WORDS + row + c, word, mask=valid)
        tl.store(ALPHA_BLANKS + row + c, blank, mask=valid)
    return _log_add(word, blank)


@triton.jit
def _backward_sweep(  # type: ignore[no-untyped-def]
    SCORES, PLACES, ALPHA_WORDS, ALPHA_BLANKS, GRADIENT, log_likelihood, length, count, columns, c, valid, differs,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Store the gradient: the negative posterior probabilities of the blank and each word."""
    word = tl.where(c == count, 0.0, float("-inf"))
    blank = word
    for step in range(length):
        row = _row(PLACES, length - 1 - step, columns)
        scores = tl.load(SCORES + row + c, mask=valid, other=float("-inf"))
        alpha_word = tl.load(ALPHA_WORDS + row + c, mask=valid, other=float("-inf"))
        alpha_blank = tl.load(ALPHA_BLANKS + row + c, mask=valid, other=float("-inf"))
        any_blank = tl.sum(tl.exp(alpha_blank + blank - log_likelihood), 0)
        posterior = tl.where(c == 0, any_blank, tl.exp(alpha_word + word - log_likelihood))
        tl.store(GRADIENT + row + c, -posterior, mask=valid)
        word += scores
        blank += tl.load(SCORES + row)
        from_blank = _log_add(blank, _next(word, c, BLOCK))
        word = _log_add(word, tl.where(differs, from_blank, blank))
        blank = from_blank


@triton.jit(do_not_specialize=["width", "columns"])
def _sum_alignments(  # type: ignore[no-untyped-def]
    SCORES, PLACES, LENGTHS, WORDS, COUNTS, ALPHA_WORDS, ALPHA_BLANKS, NLL, GRADIENT, width, columns,
    BLOCK: tl.constexpr,
):  # fmt: skip
    sentence, c = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    length = tl.minimum(tl.load(LENGTHS + sentence), width).to(tl.int32)
    count = tl.load(COUNTS + sentence).to(tl.int32)
    valid, differs = c <= count, _next_differs(WORDS + sentence * (columns - 1), c, count)
    places = PLACES + sentence * width
    ended = _forward_sweep(SCORES, places, ALPHA_WORDS, ALPHA_BLANKS, length, columns, c, valid, differs, BLOCK)
    log_likelihood = _at(ended, c, count)
    tl.store(NLL + sentence, -log_likelihood)
    if log_likelihood == float("-inf"):
        return  # the gradient stays zero
    tl.debug_barrier()  # other threads may read what this one has stored
    _backward_sweep(
        SCORES, places, ALPHA_WORDS, ALPHA_BLANKS, GRADIENT, log_likelihood, length, count, columns, c, valid,
        differs, BLOCK,
    )  # fmt: skip


@triton.jit(do_not_specialize=["width", "columns"])
def _find_best(  # type: ignore[no-untyped-def]
    SCORES, PLACES, LENGTHS, WORDS, COUNTS, POINTERS, BEST, width, columns, BLOCK: tl.constexpr
):
    sentence, c = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    length = tl.minimum(tl.load(LENGTHS + sentence), width).to(tl.int32)
    count = tl.load(COUNTS + sentence).to(tl.int32)
    valid, differs = c <= count, _next_differs(WORDS + sentence * (columns - 1), c, count)
    places = PLACES + sentence * width
    word, blank = tl.full((BLOCK,), float("-inf"), tl.float32), tl.where(c == 0, 0.0, float("-inf"))
    for t in range(length):
        row = _row(places, t, columns)
        scores = tl.load(SCORES + row + c, mask=valid, other=float("-inf"))
        after_word, either = word > blank, tl.maximum(word, blank)
        entered = _previous(tl.where(differs, either, blank), c)
        pointer = tl.where(after_word, AFTER_WORD, 0) + tl.where(entered > word, IS_NEW, 0)
        pointer += tl.where(after_word & differs, NEXT_AFTER_WORD, 0)
        tl.store(POINTERS + row + c, pointer.to(tl.int8), mask=valid)
        word = tl.maximum(word, entered) + scores
        blank = either + tl.load(SCORES + row)
    last_word, last_blank = _at(word, c, count), _at(blank, c, count)
    if tl.maximum(last_word, last_blank) == float("-inf"):
        return  # all blanks
    tl.debug_barrier()  # other threads may read what this one has stored
    _trace_back(places, POINTERS, BEST + sentence * width, last_word > last_blank, length, count, columns)


@triton.jit
def _trace_back(PLACES, POINTERS, BEST, ends_in_word, length, count, columns):  # type: ignore[no-untyped-def]
    """Store the columns on the best path."""
    in_word, c = ends_in_word, count
    for step in range(length):
        t = length - 1 - step
        tl.store(BEST + t, tl.where(in_word, c, 0).to(tl.int64))
        pointers = POINTERS + _row(PLACES, t, columns)
        # Both at once: whether the path goes to the left is known only from the first.
        here, left = tl.load(pointers + c), tl.load(pointers + tl.maximum(c - 1, 0))
        is_new = in_word & ((here & IS_NEW) != 0)
        before_new = (left & NEXT_AFTER_WORD) != 0
        in_word = (is_new & before_new) | (in_word & (is_new == 0)) | ((in_word == 0) & ((here & AFTER_WORD) != 0))
        c -= is_new.to(c.dtype)


def sum_alignments(
    scores_NC: Tensor, places_BT: Tensor, lengths_B: Tensor, words_BL: Tensor, word_counts_B: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the negative log-likelihood of each target [B], and the gradient of their sum [N, C]."""
    nll_B = torch.empty(len(lengths_B), dtype=torch.float32, device=scores_NC.device)
    gradient_NC = torch.zeros(scores_NC.shape, dtype=torch.float32, device=scores_NC.device)
    alphas_2NC = torch.empty((2, *scores_NC.shape), dtype=torch.float32, device=scores_NC.device)
    block, warps = _tile(scores_NC.shape[1])
    _sum_alignments[(len(lengths_B),)](
        scores_NC.contiguous(), places_BT.contiguous(), lengths_B, words_BL.contiguous(), word_counts_B,
        alphas_2NC[0], alphas_2NC[1], nll_B, gradient_NC, places_BT.shape[1], scores_NC.shape[1], block,
        num_warps=warps,
    )  # fmt: skip
    return nll_B, gradient_NC


def best_alignments(
    scores_NC: Tensor, places_BT: Tensor, lengths_B: Tensor, words_BL: Tensor, word_counts_B: Tensor
) -> Tensor:
    """Return the column of `scores_NC` at each position of the best alignment, int64 [B, T]."""
    best_BT = torch.zeros(places_BT.shape, dtype=torch.long, device=scores_NC.device)
    pointers_NC = torch.empty(scores_NC.shape, dtype=torch.int8, device=scores_NC.device)
    block, warps = _tile(scores_NC.shape[1])
    _find_best[(len(lengths_B),)](
        scores_NC.contiguous(), places_BT.contiguous(), lengths_B, words_BL.contiguous(), word_counts_B,
        pointers_NC, best_BT, places_BT.shape[1], scores_NC.shape[1], block, num_warps=warps,
    )  # fmt: skip
    return best_BT


def _tile(columns: int) -> tuple[int, int]:
    """Return the tile that holds all states of a sentence, and its warps."""
    block = triton.next_power_of_2(columns)
    return block, min(max(block // ELEMENTS_PER_WARP, 1), MAX_WARPS)
