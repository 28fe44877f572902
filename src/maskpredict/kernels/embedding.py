"""Embeddings of tokens and their positions, or added to hidden states, in one launch (Triton)."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from maskpredict.kernels.pdl import allow_next_kernel, launch_options, wait_for_previous_kernel


@triton.jit(do_not_specialize=["width", "first", "ids_stride"])
def _embed(  # type: ignore[no-untyped-def]
    IDS, TOKENS, POSITIONS, SLOT, OUT, width, first, ids_stride, scale,
    SIZE: tl.constexpr, WHOLE: tl.constexpr, HAS_SLOT: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    row, column = tl.program_id(0) // width, tl.program_id(0) % width
    channel = tl.arange(0, WHOLE)
    inside = channel < SIZE
    place = first + column
    if HAS_SLOT:
        place = tl.maximum(place - 1, 0)
        slot = tl.load(SLOT + channel, mask=inside, other=0.0).to(tl.float32)
    position = tl.load(POSITIONS + place * SIZE + channel, mask=inside, other=0.0).to(tl.float32)
    wait_for_previous_kernel(PDL)
    allow_next_kernel(PDL)
    token = tl.load(IDS + row * ids_stride + column).to(tl.int64)
    x = tl.load(TOKENS + token * SIZE + channel, mask=inside, other=0.0).to(tl.float32) * scale
    x = x.to(OUT.dtype.element_ty).to(tl.float32) + position  # rounded as in PyTorch, which stores the product
    if HAS_SLOT:
        x = tl.where(column == 0, slot, x)
    tl.store(OUT + tl.program_id(0) * SIZE + channel, x.to(OUT.dtype.element_ty), mask=inside)


def embed(
    ids_RT: Tensor, tokens: Tensor, positions: Tensor, scale: float, first: int = 0, slot_D: Tensor | None = None
) -> Tensor:
    """As in `kernels.reference`."""
    rows, width = ids_RT.shape
    size = tokens.shape[1]
    assert all(x.stride(1) == 1 for x in (ids_RT, tokens, positions))
    out_RTD = torch.empty((rows, width, size), dtype=tokens.dtype, device=tokens.device)
    _embed[(rows * width,)](
        ids_RT, tokens, positions, out_RTD if slot_D is None else slot_D, out_RTD, width, first, ids_RT.stride(0),
        float(scale), size, triton.next_power_of_2(size), slot_D is not None, num_warps=2,
        **launch_options(ids_RT),
    )  # fmt: skip
    return out_RTD


@triton.jit(do_not_specialize=["width", "ids_stride", "hidden"])
def _add_words(  # type: ignore[no-untyped-def]
    STATES, IDS, TOKENS, OUT, width, ids_stride, hidden, scale,
    SIZE: tl.constexpr, WHOLE: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    row, column = tl.program_id(0) // width, tl.program_id(0) % width
    channel = tl.arange(0, WHOLE)
    inside = channel < SIZE
    place = tl.program_id(0).to(tl.int64) * SIZE + channel
    state = tl.load(STATES + place, mask=inside, other=0.0).to(tl.float32)  # of a kernel before the previous one
    wait_for_previous_kernel(PDL)
    allow_next_kernel(PDL)
    token = tl.load(IDS + row * ids_stride + column).to(tl.int64)
    word = tl.load(TOKENS + token * SIZE + channel, mask=inside & (token != hidden), other=0.0).to(tl.float32) * scale
    word = word.to(OUT.dtype.element_ty).to(tl.float32)  # rounded as in PyTorch, which stores the product
    tl.store(OUT + place, (state + word).to(OUT.dtype.element_ty), mask=inside)


def add_words(states_RTD: Tensor, ids_RT: Tensor, tokens: Tensor, scale: float, hidden: int) -> Tensor:
    """As in `kernels.reference`."""
    rows, width = ids_RT.shape
    size = tokens.shape[1]
    assert states_RTD.is_contiguous()
    assert ids_RT.stride(1) == tokens.stride(1) == 1
    out_RTD = torch.empty_like(states_RTD)
    _add_words[(rows * width,)](
        states_RTD, ids_RT, tokens, out_RTD, width, ids_RT.stride(0), hidden, float(scale),
        size, triton.next_power_of_2(size), num_warps=2, **launch_options(ids_RT),
    )  # fmt: skip
    return out_RTD
