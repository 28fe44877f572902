"""Cross-attention in one launch: layer norm, query projection and attention (Triton).

A program computes one head for a few positions of one draft, from the whole rows and its head's weights. Every head
repeats the layer norm: with few rows that takes less time than another launch.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

from maskpredict.kernels.linear import linear
from maskpredict.kernels.linear_blocks import PROCESSORS
from maskpredict.kernels.matmul import (
    inputs_per_step,
    masked_load,
    normed_rows,
    split_inputs,
    split_k_product,
    split_k_slices,
    wait_after_loads,
)
from maskpredict.kernels.pdl import allow_next_kernel, launch_options
from maskpredict.kernels.row_attention import KEYS_AT_ONCE, SMALLEST_TILE, attend, attend_to_prefix

WARPS = 4
MAX_WEIGHT_TILE = 32_768
"""Largest number of weights that a program holds in registers."""


@triton.jit(do_not_specialize=["queries", "keys", "drafts"])
def _cross_attend(  # type: ignore[no-untyped-def]
    X, WEIGHT, BIAS, NORM_WEIGHT, NORM_BIAS, K, V, LENGTHS, OUT,
    queries, keys, drafts, k_row, k_token, v_row, v_token, epsilon, scale,
    INPUTS: tl.constexpr, STEP: tl.constexpr, SLICES: tl.constexpr, SIZE: tl.constexpr, TILE: tl.constexpr,
    BLOCK: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    row, head = tl.program_id(0), tl.program_id(1)
    query, channel = tl.program_id(2) * TILE + tl.arange(0, TILE), head * SIZE + tl.arange(0, SIZE)
    sentence, place = row // drafts, tl.arange(0, STEP)
    EVEN: tl.constexpr = INPUTS % STEP == 0
    PART: tl.constexpr = STEP // SLICES
    weight_place = tl.arange(0, SLICES)[:, None, None] * PART + tl.arange(0, PART)[None, :, None]
    weight = masked_load(WEIGHT + weight_place + channel[None, None, :] * INPUTS, weight_place < INPUTS, EVEN)
    bias = tl.load(BIAS + channel)
    norm_weight = masked_load(NORM_WEIGHT + place, place < INPUTS, EVEN)
    norm_bias = masked_load(NORM_BIAS + place, place < INPUTS, EVEN)
    wait_after_loads(PDL)
    x_row = row * queries + tl.minimum(query, queries - 1)
    x = masked_load(X + x_row[:, None] * INPUTS + place[None, :], (place < INPUTS)[None, :], EVEN)
    length = tl.minimum(tl.load(LENGTHS + sentence).to(tl.int32), keys)
    allow_next_kernel(PDL)
    x = split_inputs(normed_rows(x, norm_weight, norm_bias, epsilon, INPUTS), SLICES)
    q = (split_k_product(x, weight, SLICES) + bias.to(tl.float32)[None, :]).to(X.dtype.element_ty)
    k_at, v_at = K + sentence * k_row + channel[None, :], V + sentence * v_row + channel[None, :]
    out = attend_to_prefix(q, k_at, v_at, k_token, v_token, length, scale, TILE, SIZE, BLOCK)
    out_row = OUT + (row * queries + query)[:, None] * (tl.num_programs(1) * SIZE)
    tl.store(out_row + channel[None, :], out.to(q.dtype), mask=(query < queries)[:, None])


def cross_attend(
    x_ND: Tensor,
    norm: nn.LayerNorm,
    layer: nn.Linear,
    keys_BSHK: Tensor,
    values_BSHK: Tensor,
    lengths_B: Tensor,
    rows: int,
) -> Tensor:
    """As in `kernels.reference`."""
    queries, inputs = len(x_ND) // rows, x_ND.shape[1]
    heads, size = keys_BSHK.shape[2:]
    step, tiles = inputs_per_step(inputs, inputs, whole=True), triton.cdiv(queries, SMALLEST_TILE)
    if rows * heads * tiles > PROCESSORS or step * size > MAX_WEIGHT_TILE:
        q_ND = linear(x_ND, layer.weight, layer.bias, norm=norm)
        seen = attend(q_ND.view(rows, queries, heads, size), keys_BSHK, values_BSHK, lengths_B)
        return seen.flatten(0, 1).flatten(1)
    assert x_ND.is_contiguous()
    out_ND = torch.empty_like(x_ND)
    _cross_attend[(rows, heads, tiles)](
        x_ND, layer.weight, layer.bias, norm.weight, norm.bias, keys_BSHK, values_BSHK, lengths_B, out_ND,
        queries, keys_BSHK.shape[1], rows // len(keys_BSHK), keys_BSHK.stride(0), keys_BSHK.stride(1),
        values_BSHK.stride(0), values_BSHK.stride(1), norm.eps, size**-0.5,
        inputs, step, split_k_slices(step, WARPS), size, SMALLEST_TILE, KEYS_AT_ONCE, num_warps=WARPS, num_stages=2,
        **launch_options(x_ND),
    )  # fmt: skip
    return out_ND
