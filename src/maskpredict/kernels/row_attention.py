"""Attention of a few queries to the keys of their row, for translating on a GPU (Triton).

PyTorch's kernels are made for long sequences: the fastest plans again for each shape, and every translation step has
a new shape. Here a program computes one head of one row, whatever the shape. Forward only, half precision.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from maskpredict.kernels.pdl import allow_next_kernel, launch_options, wait_for_previous_kernel

SMALLEST_TILE, KEYS_AT_ONCE = 16, 32
"""Queries and keys per tile; the matrix units take no fewer than 16."""


# Sizes that change from step to step must not specialize a kernel: none can be compiled during a graph capture.
@triton.jit(do_not_specialize=["queries", "keys", "seen_row", "seen_query"])
def _attend(  # type: ignore[no-untyped-def]
    Q, K, V, SEEN, OUT, queries, keys, q_row, q_token, k_row, k_token, v_row, v_token, seen_row, seen_query, scale,
    HEADS: tl.constexpr, SIZE: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    query, channel = tl.arange(0, TILE)[:, None], head * SIZE + tl.arange(0, SIZE)[None, :]
    valid_query = query < queries
    wait_for_previous_kernel(PDL)
    allow_next_kernel(PDL)
    q = tl.load(Q + row * q_row + query * q_token + channel, mask=valid_query, other=0.0)
    highest = tl.full((TILE,), float("-inf"), tl.float32)
    total = tl.zeros((TILE,), tl.float32)
    out = tl.zeros((TILE, SIZE), tl.float32)
    for first in range(0, keys, BLOCK):
        place = first + tl.arange(0, BLOCK)
        valid_key = place < keys
        k = tl.load(K + row * k_row + place[:, None] * k_token + channel, mask=valid_key[:, None], other=0.0)
        v = tl.load(V + row * v_row + place[:, None] * v_token + channel, mask=valid_key[:, None], other=0.0)
        seen_place = SEEN + row * seen_row + query * seen_query + place[None, :]
        seen = tl.load(seen_place, mask=valid_query & valid_key[None, :], other=0) != 0
        scores = tl.where(seen, tl.dot(q, tl.trans(k)) * (scale * 1.4426950408889634), float("-inf"))
        higher = tl.maximum(highest, tl.max(scores, 1))
        base = tl.where(higher == float("-inf"), 0.0, higher)  # no key seen in any block yet
        weights, shrink = tl.exp2(scores - base[:, None]), tl.exp2(highest - base)
        total = total * shrink + tl.sum(weights, 1)
        out = out * shrink[:, None] + tl.dot(weights.to(v.dtype), v)
        highest = higher
    out = out / tl.maximum(total, 1e-30)[:, None]
    out_place = OUT + row * (queries * HEADS * SIZE) + query * (HEADS * SIZE) + channel
    tl.store(out_place, out.to(q.dtype), mask=valid_query)


@triton.jit
def attend_to_prefix(  # type: ignore[no-untyped-def]
    q, K, V, k_token, v_token, length, scale, TILE: tl.constexpr, SIZE: tl.constexpr, BLOCK: tl.constexpr
):
    """Return attention of a tile of queries to the first `length` keys and values behind the pointers K and V."""
    highest = tl.full((TILE,), float("-inf"), tl.float32)
    total = tl.zeros((TILE,), tl.float32)
    out = tl.zeros((TILE, SIZE), tl.float32)
    for first in range(0, length, BLOCK):
        place = first + tl.arange(0, BLOCK)
        valid_key = place < length
        k = tl.load(K + place[:, None] * k_token, mask=valid_key[:, None], other=0.0)
        v = tl.load(V + place[:, None] * v_token, mask=valid_key[:, None], other=0.0)
        scores = tl.where(valid_key[None, :], tl.dot(q, tl.trans(k)) * (scale * 1.4426950408889634), float("-inf"))
        higher = tl.maximum(highest, tl.max(scores, 1))
        weights, shrink = tl.exp2(scores - higher[:, None]), tl.exp2(highest - higher)
        total = total * shrink + tl.sum(weights, 1)
        out = out * shrink[:, None] + tl.dot(weights.to(v.dtype), v)
        highest = higher
    return out / tl.maximum(total, 1e-30)[:, None]


@triton.jit(do_not_specialize=["queries", "keys", "drafts"])
def _attend_prefix(  # type: ignore[no-untyped-def]
    Q, K, V, LENGTHS, OUT, queries, keys, drafts, q_row, q_token, k_row, k_token, v_row, v_token, scale,
    HEADS: tl.constexpr, SIZE: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    row, head = tl.program_id(0), tl.program_id(1)
    query, channel = tl.program_id(2) * TILE + tl.arange(0, TILE)[:, None], head * SIZE + tl.arange(0, SIZE)[None, :]
    sentence = row // drafts
    wait_for_previous_kernel(PDL)
    allow_next_kernel(PDL)
    length = tl.minimum(tl.load(LENGTHS + sentence).to(tl.int32), keys)
    q = tl.load(Q + row * q_row + query * q_token + channel, mask=query < queries, other=0.0)
    k_at, v_at = K + sentence * k_row + channel, V + sentence * v_row + channel
    out = attend_to_prefix(q, k_at, v_at, k_token, v_token, length, scale, TILE, SIZE, BLOCK)
    out_place = OUT + row * (queries * HEADS * SIZE) + query * (HEADS * SIZE) + channel
    tl.store(out_place, out.to(q.dtype), mask=query < queries)


def attend(q_RTHK: Tensor, keys_BSHK: Tensor, values_BSHK: Tensor, lengths_B: Tensor) -> Tensor:
    """As in `kernels.reference`; each token's heads are contiguous.

    A program takes few queries, so that there are many programs.
    """
    rows, queries, heads, size = q_RTHK.shape
    out = torch.empty((rows, queries, heads, size), dtype=q_RTHK.dtype, device=q_RTHK.device)
    _attend_prefix[(rows, heads, triton.cdiv(queries, SMALLEST_TILE))](
        q_RTHK, keys_BSHK, values_BSHK, lengths_B, out, queries, keys_BSHK.shape[1], rows // len(keys_BSHK),
        q_RTHK.stride(0), q_RTHK.stride(1), keys_BSHK.stride(0), keys_BSHK.stride(1), values_BSHK.stride(0),
        values_BSHK.stride(1), size**-0.5, heads, size, SMALLEST_TILE, KEYS_AT_ONCE, num_warps=2,
        **launch_options(q_RTHK),
    )  # fmt: skip
    return out


def row_attention(q: Tensor, k: Tensor, v: Tensor, seen_BTS: Tensor) -> Tensor:
    """Return attention of q [B, T, H, K] to k, v [B, S, H, K] where `seen_BTS`; each token's heads are contiguous.

    `seen_BTS` may be [B, 1, S]. Up to 128 queries.
    """
    rows, queries, heads, size = q.shape
    out = torch.empty((rows, queries, heads, size), dtype=q.dtype, device=q.device)
    seen = seen_BTS.contiguous().view(torch.uint8).expand(rows, queries, k.shape[1])
    tile = max(SMALLEST_TILE, triton.next_power_of_2(queries))
    _attend[(rows, heads)](
        q, k, v, seen, out, queries, k.shape[1],
        q.stride(0), q.stride(1), k.stride(0), k.stride(1), v.stride(0), v.stride(1), seen.stride(0), seen.stride(1),
        size**-0.5,
        heads, size, tile, KEYS_AT_ONCE, num_warps=2 if tile <= 32 else 4, **launch_options(q),
    )  # fmt: skip
    return out
