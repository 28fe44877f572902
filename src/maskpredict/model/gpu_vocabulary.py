"""The best token of each block of the vocabulary, without ever writing down the logits (Triton)."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

from maskpredict.model.fused_ops import VOCABULARY_BLOCK, BlockBests
from maskpredict.model.gpu_linear import HIGH_TILE, LOW_TILE, normed, row_statistics, step_of, warps_of

MOST_AT_ONCE = 64
"""Inputs that are multiplied at once: few, so that two programs find room on a processor."""


@triton.jit(do_not_specialize=["rows"])
def _block_bests(  # type: ignore[no-untyped-def]
    X, WEIGHT, PENALTY, NORM_WEIGHT, NORM_BIAS, HIGHEST, TOTAL, TOKEN, rows, vocabulary, x_stride, epsilon,
    INPUTS: tl.constexpr, WHOLE: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    row, block = tl.program_id(0) * TILE + tl.arange(0, TILE), tl.program_id(1)
    token = block * BLOCK + tl.arange(0, BLOCK)
    real, there = row < rows, token < vocabulary
    mean, scale = row_statistics(X, row, real, x_stride, epsilon, INPUTS, WHOLE)
    logits = tl.zeros((TILE, BLOCK), tl.float32)
    for first in range(0, INPUTS, STEP):
        place = first + tl.arange(0, STEP)
        x = tl.load(X + row[:, None] * x_stride + place[None, :], mask=real[:, None], other=0.0)
        x = normed(x, mean, scale, NORM_WEIGHT, NORM_BIAS, place)
        weight = tl.load(WEIGHT + token[:, None].to(tl.int64) * INPUTS + place[None, :], mask=there[:, None], other=0.0)
        logits = tl.dot(x, tl.trans(weight), logits)
    # Rounded like logits that are written down, so that ties are the same ones.
    logits = logits.to(X.dtype.element_ty).to(tl.float32)
    logits += tl.load(PENALTY + token, mask=there, other=float("-inf"))[None, :]
    highest, best = tl.max(logits, 1, return_indices=True)
    base = tl.where(highest == float("-inf"), 0.0, highest)
    total = tl.sum(tl.exp(logits - base[:, None]), 1)
    out = block * rows + row
    tl.store(HIGHEST + out, highest, mask=real)
    tl.store(TOTAL + out, total, mask=real)
    tl.store(TOKEN + out, tl.minimum(block * BLOCK + best, vocabulary - 1).to(tl.int32), mask=real)


def block_bests(x_NK: Tensor, norm: nn.LayerNorm, weight_VK: Tensor, penalty_V: Tensor) -> BlockBests:
    """As in `fused_ops`."""
    rows, inputs = x_NK.shape
    vocabulary = len(weight_VK)
    blocks = triton.cdiv(vocabulary, VOCABULARY_BLOCK)
    highest_GN, total_GN = torch.empty((2, blocks, rows), dtype=torch.float32, device=x_NK.device)
    token_GN = torch.empty((blocks, rows), dtype=torch.int32, device=x_NK.device)
    tile = LOW_TILE if rows <= LOW_TILE else HIGH_TILE
    assert x_NK.stride(1) == 1
    assert weight_VK.is_contiguous()
    _block_bests[(triton.cdiv(rows, tile), blocks)](
        x_NK, weight_VK, penalty_V, norm.weight, norm.bias, highest_GN, total_GN, token_GN,
        rows, vocabulary, x_NK.stride(0), norm.eps,
        inputs, triton.next_power_of_2(inputs), tile, VOCABULARY_BLOCK, step_of(inputs, MOST_AT_ONCE),
        num_warps=warps_of(tile, inputs), num_stages=4,
    )  # fmt: skip
    return BlockBests(highest_GN, total_GN, token_GN)
