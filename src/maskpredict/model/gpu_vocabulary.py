"""The best token of each block of the vocabulary, without ever writing down the logits (Triton).

Most of the time goes into fetching the weights. With few rows, a program normalizes them once and then takes some
tokens after the other, while the weights of the next ones are on their way. With many rows, it keeps the weights of all
its tokens at hand and takes some rows after the other. Each way adds up in an order of its own: a row comes out the
same in any company of few rows, and in any of many.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

from maskpredict.model.fused_ops import VOCABULARY_BLOCK, BlockBests
from maskpredict.model.gpu_linear import WARPS
from maskpredict.model.gpu_product import (
    ask_for,
    normed_rows,
    part,
    product,
    sliced,
    slices_of,
    step_of,
    wait_once_asked,
)
from maskpredict.model.launch_ahead import launch_options, let_the_next_kernel_start


@dataclass(frozen=True)
class Tokens:
    """How the work is cut up."""

    tile: int
    """Rows that a program multiplies at once."""
    at_once: int
    """Tokens that it multiplies at once; with all tokens of the block it takes all rows of the batch in turn."""
    stages: int
    """How far it asks for weights ahead, and one more."""
    early: bool = True
    """Whether it asks for all of them already before it looks at its rows."""


BY_ROWS = (Tokens(16, 32, 4), Tokens(32, 32, 4, early=False), Tokens(64, VOCABULARY_BLOCK, 1))
"""The first that takes all rows at once, or else the last."""
NARROW = Tokens(16, 16, 3)
"""For wide models, whose rows and weights take more room."""
WIDEST_FOR_MANY = 512


@triton.jit
def _write_bests(  # type: ignore[no-untyped-def]
    HIGHEST, TOTAL, TOKEN, highest, total, best, block, row, rows, vocabulary
):
    """Of several logits a row, each standing for some tokens: the highest of them, their sum, the first best token."""
    of_row = tl.max(highest, 1)
    base = tl.where(of_row == float("-inf"), 0.0, of_row)
    total = tl.sum(total * tl.exp(highest - base[:, None]), 1)
    best = tl.min(tl.where(highest == of_row[:, None], best, vocabulary - 1), 1)
    out = block * rows + row
    tl.store(HIGHEST + out, of_row, mask=row < rows)
    tl.store(TOTAL + out, total, mask=row < rows)
    tl.store(TOKEN + out, tl.minimum(best, vocabulary - 1), mask=row < rows)


@triton.jit(do_not_specialize=["rows"])
def _block_bests(  # type: ignore[no-untyped-def]
    X, WEIGHT, PENALTY, NORM_WEIGHT, NORM_BIAS, HIGHEST, TOTAL, TOKEN, rows, vocabulary, x_stride, epsilon,
    INPUTS: tl.constexpr, STEP: tl.constexpr, SLICES: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr,
    AT_ONCE: tl.constexpr, EARLY: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    row, block = tl.program_id(0) * TILE + tl.arange(0, TILE), tl.program_id(1)
    SIZE: tl.constexpr = STEP // SLICES
    EVEN: tl.constexpr = INPUTS % STEP == 0
    LINE: tl.constexpr = min(STEP, 64)
    place = tl.arange(0, STEP)
    if EARLY:
        of_block = tl.minimum(block * BLOCK + tl.arange(0, BLOCK), vocabulary - 1).to(tl.int64)
        line = tl.minimum(tl.arange(0, STEP // LINE) * LINE, INPUTS - 1)
        ask_for(WEIGHT + of_block[:, None] * INPUTS + line[None, :])
    norm_weight = part(NORM_WEIGHT + place, place < INPUTS, EVEN)
    norm_bias = part(NORM_BIAS + place, place < INPUTS, EVEN)
    wait_once_asked(AHEAD)
    # Past the end stands the last row once more, and is thrown away; so it is with tokens, which are impossible there.
    any_row = tl.minimum(row, rows - 1)
    x = part(X + any_row[:, None] * x_stride + place[None, :], (place < INPUTS)[None, :], EVEN)
    token = block * BLOCK + tl.arange(0, AT_ONCE)
    next_penalty = tl.load(PENALTY + token, mask=token < vocabulary, other=float("-inf"))
    let_the_next_kernel_start(AHEAD)
    x = sliced(normed_rows(x, norm_weight, norm_bias, epsilon, INPUTS), SLICES)
    weight_place = tl.arange(0, SLICES)[:, None, None] * SIZE + tl.arange(0, SIZE)[None, :, None]
    # Of every AT_ONCE-th token: the highest logit, the sum of exp(logit - highest), and the first such token.
    highest = tl.full((TILE, AT_ONCE), float("-inf"), tl.float32)
    total = tl.zeros((TILE, AT_ONCE), tl.float32)
    best = tl.zeros((TILE, AT_ONCE), tl.int32) + token[None, :]
    for _ in range(0, BLOCK, AT_ONCE):
        any_token = tl.minimum(token, vocabulary - 1).to(tl.int64)
        weight = part(WEIGHT + weight_place + any_token[None, None, :] * INPUTS, weight_place < INPUTS, EVEN)
        penalty, next_token = next_penalty, token + AT_ONCE
        next_penalty = tl.load(PENALTY + next_token, mask=next_token < vocabulary, other=float("-inf"))
        logits = product(x, weight, SLICES)
        # Rounded like logits that are written down, so that ties are the same ones.
        logits = logits.to(X.dtype.element_ty).to(tl.float32) + penalty[None, :]
        best = tl.where(logits > highest, token[None, :], best)
        higher = tl.maximum(highest, logits)
        base = tl.where(higher == float("-inf"), 0.0, higher)
        total = total * tl.exp(highest - base) + tl.exp(logits - base)
        highest, token = higher, next_token
    _write_bests(HIGHEST, TOTAL, TOKEN, highest, total, best, block, row, rows, vocabulary)


@triton.jit(do_not_specialize=["rows"])
def _block_bests_in_turn(  # type: ignore[no-untyped-def]
    X, WEIGHT, PENALTY, NORM_WEIGHT, NORM_BIAS, HIGHEST, TOTAL, TOKEN, rows, vocabulary, x_stride, epsilon,
    INPUTS: tl.constexpr, STEP: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    EVEN: tl.constexpr = INPUTS % STEP == 0
    token, place = block * BLOCK + tl.arange(0, BLOCK), tl.arange(0, STEP)
    any_token = tl.minimum(token, vocabulary - 1).to(tl.int64)
    weight = part(WEIGHT + place[:, None] + any_token[None, :] * INPUTS, (place < INPUTS)[:, None], EVEN)
    penalty = tl.load(PENALTY + token, mask=token < vocabulary, other=float("-inf"))
    norm_weight = part(NORM_WEIGHT + place, place < INPUTS, EVEN)
    norm_bias = part(NORM_BIAS + place, place < INPUTS, EVEN)
    wait_once_asked(AHEAD)
    let_the_next_kernel_start(AHEAD)
    for first in range(0, rows, TILE):
        row = first + tl.arange(0, TILE)
        any_row = tl.minimum(row, rows - 1)
        x = part(X + any_row[:, None] * x_stride + place[None, :], (place < INPUTS)[None, :], EVEN)
        normed = normed_rows(x, norm_weight, norm_bias, epsilon, INPUTS)
        logits = tl.dot(normed, weight).to(X.dtype.element_ty).to(tl.float32) + penalty[None, :]
        _write_bests(HIGHEST, TOTAL, TOKEN, logits, 1.0, token[None, :], block, row, rows, vocabulary)


def block_bests(
    x_NK: Tensor, norm: nn.LayerNorm, weight_VK: Tensor, penalty_V: Tensor, *, tokens: Tokens | None = None
) -> BlockBests:
    """As in `fused_ops`."""
    rows, inputs = x_NK.shape
    vocabulary = len(weight_VK)
    blocks = triton.cdiv(vocabulary, VOCABULARY_BLOCK)
    highest_GN, total_GN = torch.empty((2, blocks, rows), dtype=torch.float32, device=x_NK.device)
    token_GN = torch.empty((blocks, rows), dtype=torch.int32, device=x_NK.device)
    assert x_NK.stride(1) == 1
    assert weight_VK.is_contiguous()
    tokens = tokens or tokens_of(rows, inputs)
    step = step_of(inputs, inputs, whole=True)
    given = (
        x_NK, weight_VK, penalty_V, norm.weight, norm.bias, highest_GN, total_GN, token_GN,
        rows, vocabulary, x_NK.stride(0), norm.eps,
    )  # fmt: skip
    options = {"num_warps": WARPS, "num_stages": tokens.stages, **launch_options(x_NK)}
    if tokens.at_once == VOCABULARY_BLOCK:
        _block_bests_in_turn[(blocks,)](*given, inputs, step, tokens.tile, VOCABULARY_BLOCK, **options)
    else:
        slices, early = slices_of(step, WARPS), tokens.early and x_NK.is_cuda
        _block_bests[(triton.cdiv(rows, tokens.tile), blocks)](
            *given, inputs, step, slices, tokens.tile, VOCABULARY_BLOCK, tokens.at_once, early, **options
        )
    return BlockBests(highest_GN, total_GN, token_GN)


def tokens_of(rows: int, inputs: int) -> Tokens:
    """As much at once as there is room for."""
    if inputs > WIDEST_FOR_MANY:
        return NARROW
    return next((tokens for tokens in BY_ROWS if rows <= tokens.tile), BY_ROWS[-1])
