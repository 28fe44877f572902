"""Attention within the short sentences of a packed batch, in one tile each (Triton).

General kernels loop over blocks of 128 positions and store statistics for the backward pass. Most sentences are far
shorter: 27 subwords leave four fifths of such a block empty. Here a program holds one head of one sentence in
registers, in a tile of 32, 64 or 128 positions. The backward pass recomputes the probabilities.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

MAX_LENGTH = 128
"""Positions of the longest sentence that fits a tile."""
TILES = ((32, 0, 2), (64, 32, 4), (128, 64, 8))
"""(tile, longest sentence that a smaller tile holds, warps)."""


@triton.jit
def _probabilities(q, k, q_length, k_length, scale, TILE: tl.constexpr, CAUSAL: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.arange(0, TILE)[:, None]
    column = tl.arange(0, TILE)[None, :]
    seen = (column < k_length) & (row < q_length)
    if CAUSAL:
        seen = seen & (column <= row)
    scores = tl.where(seen, tl.dot(q, tl.trans(k)) * (scale * 1.4426950408889634), float("-inf"))
    highest = tl.max(scores, 1)
    highest = tl.where(highest == float("-inf"), 0.0, highest)  # a row of padding may see nothing
    weights = tl.where(seen, tl.exp2(scores - highest[:, None]), 0.0)
    return weights / tl.maximum(tl.sum(weights, 1), 1e-30)[:, None]


@triton.jit
def _forward(  # type: ignore[no-untyped-def]
    Q, K, V, OUT, Q_STARTS, K_STARTS, q_stride, k_stride, v_stride, scale,
    HEADS: tl.constexpr, SIZE: tl.constexpr, TILE: tl.constexpr, SMALLER: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    row, head = tl.program_id(0), tl.program_id(1)
    q_start, k_start = tl.load(Q_STARTS + row), tl.load(K_STARTS + row)
    q_length, k_length = tl.load(Q_STARTS + row + 1) - q_start, tl.load(K_STARTS + row + 1) - k_start
    longer = tl.maximum(q_length, k_length)
    if (longer <= SMALLER) | (longer > TILE):
        return
    place, channel = tl.arange(0, TILE), tl.arange(0, SIZE)
    q_here, k_here = (place < q_length)[:, None], (place < k_length)[:, None]
    q_place, k_place = (q_start + place)[:, None], (k_start + place)[:, None]
    column = head * SIZE + channel[None, :]
    q = tl.load(Q + q_place * q_stride + column, mask=q_here, other=0.0)
    k = tl.load(K + k_place * k_stride + column, mask=k_here, other=0.0)
    v = tl.load(V + k_place * v_stride + column, mask=k_here, other=0.0)
    p = _probabilities(q, k, q_length, k_length, scale, TILE, CAUSAL)
    out = tl.dot(p.to(v.dtype), v)
    tl.store(OUT + q_place * (HEADS * SIZE) + column, out.to(v.dtype), mask=q_here)


@triton.jit
def _backward(  # type: ignore[no-untyped-def]
    Q, K, V, D_OUT, D_Q, D_K, D_V, Q_STARTS, K_STARTS, q_stride, k_stride, v_stride, out_stride, scale,
    HEADS: tl.constexpr, SIZE: tl.constexpr, TILE: tl.constexpr, SMALLER: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    row, head = tl.program_id(0), tl.program_id(1)
    q_start, k_start = tl.load(Q_STARTS + row), tl.load(K_STARTS + row)
    q_length, k_length = tl.load(Q_STARTS + row + 1) - q_start, tl.load(K_STARTS + row + 1) - k_start
    longer = tl.maximum(q_length, k_length)
    if (longer <= SMALLER) | (longer > TILE):
        return
    place, channel = tl.arange(0, TILE), tl.arange(0, SIZE)
    q_here, k_here = (place < q_length)[:, None], (place < k_length)[:, None]
    q_place, k_place = (q_start + place)[:, None], (k_start + place)[:, None]
    column = head * SIZE + channel[None, :]
    q = tl.load(Q + q_place * q_stride + column, mask=q_here, other=0.0)
    k = tl.load(K + k_place * k_stride + column, mask=k_here, other=0.0)
    v = tl.load(V + k_place * v_stride + column, mask=k_here, other=0.0)
    d_out = tl.load(D_OUT + q_place * out_stride + column, mask=q_here, other=0.0)
    p = _probabilities(q, k, q_length, k_length, scale, TILE, CAUSAL)
    d_v = tl.dot(tl.trans(p.to(v.dtype)), d_out)
    tl.store(D_V + k_place * (HEADS * SIZE) + column, d_v.to(v.dtype), mask=k_here)
    d_p = tl.dot(d_out, tl.trans(v))
    d_s = (p * (d_p - tl.sum(p * d_p, 1)[:, None]) * scale).to(v.dtype)
    tl.store(D_Q + q_place * (HEADS * SIZE) + column, tl.dot(d_s, k).to(v.dtype), mask=q_here)
    tl.store(D_K + k_place * (HEADS * SIZE) + column, tl.dot(tl.trans(d_s), q).to(v.dtype), mask=k_here)


@torch.library.custom_op("maskpredict::short_attention", mutates_args=())
def short_attention(q: Tensor, k: Tensor, v: Tensor, q_starts: Tensor, k_starts: Tensor, causal: bool) -> Tensor:
    """Return attention of q [N, H, K] to k, v [M, H, K] within each row; `starts` as in `layout.Packed`."""
    q, k, v = (_rows_of_heads(x) for x in (q, k, v))
    heads, size = q.shape[1:]
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    for tile, smaller, warps in TILES:
        _forward[(len(q_starts) - 1, heads)](
            q, k, v, out, q_starts, k_starts, q.stride(0), k.stride(0), v.stride(0), size**-0.5,
            heads, size, tile, smaller, causal, num_warps=warps,
        )  # fmt: skip
    return out


@torch.library.custom_op("maskpredict::short_attention_backward", mutates_args=())
def short_attention_backward(
    d_out: Tensor, q: Tensor, k: Tensor, v: Tensor, q_starts: Tensor, k_starts: Tensor, causal: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of q, k and v."""
    d_out, q, k, v = (_rows_of_heads(x) for x in (d_out, q, k, v))
    heads, size = q.shape[1:]
    d_q, d_k, d_v = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v))
    for tile, smaller, warps in TILES:
        _backward[(len(q_starts) - 1, heads)](
            q, k, v, d_out, d_q, d_k, d_v, q_starts, k_starts,
            q.stride(0), k.stride(0), v.stride(0), d_out.stride(0), size**-0.5,
            heads, size, tile, smaller, causal, num_warps=warps,
        )  # fmt: skip
    return d_q, d_k, d_v


def _rows_of_heads(x: Tensor) -> Tensor:
    """Return the tensor with each token's heads contiguous, as the kernels assume."""
    return x if x.stride(2) == 1 and x.stride(1) == x.shape[2] else x.contiguous()


@short_attention.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, q_starts: Tensor, k_starts: Tensor, causal: bool) -> Tensor:
    return torch.empty(q.shape, dtype=q.dtype, device=q.device)


@short_attention_backward.register_fake
def _(
    d_out: Tensor, q: Tensor, k: Tensor, v: Tensor, q_starts: Tensor, k_starts: Tensor, causal: bool
) -> tuple[Tensor, Tensor, Tensor]:
    d_q, d_k, d_v = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v))
    return d_q, d_k, d_v


def _save_for_backward(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
    *tensors, ctx.causal = inputs
    ctx.save_for_backward(*tensors)


def _autograd_backward(ctx, d_out: Tensor):  # type: ignore[no-untyped-def]
    gradients = short_attention_backward(d_out, *ctx.saved_tensors, ctx.causal)
    return *gradients, None, None, None


short_attention.register_autograd(_autograd_backward, setup_context=_save_for_backward)
