"""The best token of each block of the vocabulary, without ever writing down the logits (Triton).

Most of the time goes into fetching the weights. So a program normalizes its rows once and then takes some tokens after
the other, while the weights of the next ones are on their way. As in `gpu_linear`, a row comes out the same in any
company.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

from maskpredict.model.fused_ops import VOCABULARY_BLOCK, BlockBests
from maskpredict.model.gpu_linear import (
    WARPS,
    added_up,
    ask_for,
    normed_slices,
    part,
    slices_of,
    step_of,
    wait_once_asked,
)
from maskpredict.model.launch_ahead import launch_options, let_the_next_kernel_start


@dataclass(frozen=True)
class Tokens:
    """How the work is cut up."""

    tile: int
    """Rows of a program."""
    at_once: int
    """Tokens that it multiplies at once."""
    stages: int
    """How far it asks for weights ahead, and one more."""
    early: bool = True
    """Whether it asks for all of them already before it looks at its rows."""


BY_ROWS = (Tokens(16, 32, 4), Tokens(32, 32, 4, early=False), Tokens(64, 32, 3))
"""The first that takes all rows at once, or else the last. All multiply as many tokens: part of the sums' order."""
NARROW = Tokens(16, 16, 3)
"""For wide models, whose rows and weights take more room."""
WIDEST_FOR_MANY = 512


@triton.jit(do_not_specialize=["rows"])
def _block_bests(  # type: ignore[no-untyped-def]
    X, WEIGHT, PENALTY, NORM_WEIGHT, NORM_BIAS, HIGHEST, TOTAL, TOKEN, rows, vocabulary, x_stride, epsilon,
    INPUTS: tl.constexpr, STEP: tl.constexpr, SLICES: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr,
    AT_ONCE: tl.constexpr, EARLY: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    row, block = tl.program_id(0) * TILE + tl.arange(0, TILE), tl.program_id(1)
    real = row < rows
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
    x = normed_slices(x, norm_weight, norm_bias, epsilon, INPUTS, SLICES)
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
        logits = added_up(tl.permute(tl.dot(x, weight), [1, 2, 0]), SLICES)
        # Rounded like logits that are written down, so that ties are the same ones.
        logits = logits.to(X.dtype.element_ty).to(tl.float32) + penalty[None, :]
        best = tl.where(logits > highest, token[None, :], best)
        higher = tl.maximum(highest, logits)
        base = tl.where(higher == float("-inf"), 0.0, higher)
        total = total * tl.exp(highest - base) + tl.exp(logits - base)
        highest, token = higher, next_token
    of_row = tl.max(highest, 1)
    base = tl.where(of_row == float("-inf"), 0.0, of_row)
    total = tl.sum(total * tl.exp(highest - base[:, None]), 1)
    best = tl.min(tl.where(highest == of_row[:, None], best, vocabulary - 1), 1)
    out = block * rows + row
    tl.store(HIGHEST + out, of_row, mask=real)
    tl.store(TOTAL + out, total, mask=real)
    tl.store(TOKEN + out, tl.minimum(best, vocabulary - 1), mask=real)


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
    _block_bests[(triton.cdiv(rows, tokens.tile), blocks)](
        x_NK, weight_VK, penalty_V, norm.weight, norm.bias, highest_GN, total_GN, token_GN,
        rows, vocabulary, x_NK.stride(0), norm.eps,
        inputs, step, slices_of(step, WARPS), tokens.tile, VOCABULARY_BLOCK, tokens.at_once,
        tokens.early and x_NK.is_cuda, num_warps=WARPS, num_stages=tokens.stages, **launch_options(x_NK),
    )  # fmt: skip
    return BlockBests(highest_GN, total_GN, token_GN)


def tokens_of(rows: int, inputs: int) -> Tokens:
    """As much at once as there is room for."""
    if inputs > WIDEST_FOR_MANY:
        return NARROW
    return next((tokens for tokens in BY_ROWS if rows <= tokens.tile), BY_ROWS[-1])
