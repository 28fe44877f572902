"""Layer norm, linear layer, non-linearity and residual sum for few rows in one launch (Triton).

With few rows, launches and memory limit a GPU, not arithmetic. So the output is split into many small blocks, each
program repeats the layer norm of its rows, and it issues all its loads before it waits for any. The warps of a program
split the inputs (split-K). Sums are in float32 in a fixed order, so a row's result does not depend on the batch. With
so many rows that arithmetic counts, the warps split the outputs, and the order is another one.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

from maskpredict.kernels.linear_blocks import Blocks, choose_blocks, choose_stages
from maskpredict.kernels.matmul import (
    inputs_per_step,
    masked_load,
    normed_rows,
    prefetch,
    split_inputs,
    split_k_product,
    split_k_slices,
    sum_slices,
    wait_after_loads,
)
from maskpredict.kernels.pdl import allow_next_kernel, launch_options
from maskpredict.kernels.reference import Activation

ACTIVATIONS: dict[Activation | None, int] = {None: 0, "gelu": 1, "relu": 2}


@triton.jit
def input_rows(PLACES, row, rows, places_per_draft, places_stride, GATHER: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the input row of each output row; past the end, the last row again."""
    clamped_row = tl.minimum(row, rows - 1)
    if GATHER:
        return tl.load(PLACES + clamped_row // places_per_draft * places_stride + clamped_row % places_per_draft)
    else:
        return clamped_row


@triton.jit
def _load_if(POINTERS, inside, NEEDED: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return a masked load, or 0 if the kernel does not need it."""
    if NEEDED:
        return tl.load(POINTERS, mask=inside, other=0.0)
    else:
        return 0.0


@triton.jit
def _prefetch_rows(WEIGHT, column, INPUTS: tl.constexpr, STEP: tl.constexpr):  # type: ignore[no-untyped-def]
    """Prefetch the weights of some outputs, a cache line at a time."""
    for first in tl.static_range(0, INPUTS, STEP):
        line = tl.minimum(first + tl.arange(0, STEP // 64) * 64, INPUTS - 1)
        prefetch(WEIGHT + column[:, None] * INPUTS + line[None, :])


@triton.jit
def _activated(y, ACTIVATION: tl.constexpr):  # type: ignore[no-untyped-def]
    if ACTIVATION == 1:
        return 0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))
    else:
        return tl.where(y > 0.0, y, 0.0)


@triton.jit
def _stepwise_product(  # type: ignore[no-untyped-def]
    x_at, weight_at, x_place, weight_place,
    INPUTS: tl.constexpr, STEP: tl.constexpr, SLICES: tl.constexpr, TILE: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Return the split-K product of rows and weights, STEP inputs at a time."""
    EVEN: tl.constexpr = INPUTS % STEP == 0
    y = tl.zeros((SLICES, TILE, COLUMNS), tl.float32)
    for first in range(0, INPUTS, STEP):
        x = masked_load(x_at + first, x_place < INPUTS - first, EVEN)
        weight = masked_load(weight_at + first, weight_place < INPUTS - first, EVEN)
        y = tl.dot(x, weight, y)
    return sum_slices(tl.permute(y, [1, 2, 0]), SLICES)


@triton.jit
def _load_rows(  # type: ignore[no-untyped-def]
    X, input_row, x_place, place, x_stride, INPUTS: tl.constexpr, EVEN: tl.constexpr, NORM: tl.constexpr
):
    """Return whole rows for a layer norm, else rows in split-K slices."""
    if NORM:
        x = masked_load(X + input_row[:, None] * x_stride + place[None, :], (place < INPUTS)[None, :], EVEN)
    else:
        x = masked_load(X + x_place + input_row[None, :, None] * x_stride, x_place < INPUTS, EVEN)
        tl.debug_barrier()
    return x


@triton.jit
def _store_queries_keys_values(  # type: ignore[no-untyped-def]
    QUERIES, KEYS, VALUES, y, row, first_column, column, inside, cache_stride, INPUTS: tl.constexpr, BEAMS: tl.constexpr
):
    """Store a block of queries, keys or values: each is as wide as the input, and a block has columns of one only."""
    channel = (column % INPUTS)[None, :]
    cached = (row // BEAMS)[:, None] * cache_stride + (row % BEAMS)[:, None] * INPUTS + channel
    if first_column < INPUTS:
        tl.store(QUERIES + row[:, None] * INPUTS + channel, y, mask=inside)
    elif first_column < 2 * INPUTS:
        tl.store(KEYS + cached, y, mask=inside)
    else:
        tl.store(VALUES + cached, y, mask=inside)


@triton.jit
def _rounded_output(y, bias, residual, OUT, HAS_BIAS: tl.constexpr, ACTIVATION: tl.constexpr, ADD: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return y after bias, non-linearity and residual sum.

    It is rounded wherever separate layers round, so that near ties are decided as they decide them.
    """
    if HAS_BIAS:
        y += bias.to(tl.float32)[None, :]
    if ACTIVATION != 0:
        y = _activated(y.to(OUT.dtype.element_ty).to(tl.float32), ACTIVATION)
    if ADD:
        y = y.to(OUT.dtype.element_ty).to(tl.float32) + residual.to(tl.float32)
    return y.to(OUT.dtype.element_ty)


@triton.jit(do_not_specialize=["rows", "places_per_draft", "places_stride"])
def _linear(  # type: ignore[no-untyped-def]
    X, WEIGHT, BIAS, NORM_WEIGHT, NORM_BIAS, RESIDUAL, PLACES, OUT, KEYS, VALUES,
    rows, outputs, places_per_draft, x_stride, places_stride, cache_stride, epsilon,
    INPUTS: tl.constexpr, STEP: tl.constexpr, SLICES: tl.constexpr, TILE: tl.constexpr, COLUMNS: tl.constexpr,
    HAS_BIAS: tl.constexpr, NORM: tl.constexpr, ACTIVATION: tl.constexpr, ADD: tl.constexpr, GATHER: tl.constexpr,
    BEAMS: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    first_column = tl.program_id(1) * COLUMNS
    column = first_column + tl.arange(0, COLUMNS)
    valid_row, valid_column = row < rows, column < outputs
    inside = valid_row[:, None] & valid_column[None, :]
    clamped_column = tl.minimum(column, outputs - 1)
    SIZE: tl.constexpr = STEP // SLICES
    EVEN: tl.constexpr = INPUTS % STEP == 0
    place, slice_ = tl.arange(0, STEP), tl.arange(0, SLICES)[:, None, None] * SIZE
    x_place, weight_place = slice_ + tl.arange(0, SIZE)[None, None, :], slice_ + tl.arange(0, SIZE)[None, :, None]
    weight_at = WEIGHT + weight_place + clamped_column[None, None, :] * INPUTS
    bias = _load_if(BIAS + column, valid_column, HAS_BIAS)
    if STEP >= INPUTS:  # one step
        weight = masked_load(weight_at, weight_place < INPUTS, EVEN)
        if NORM:
            norm_weight = masked_load(NORM_WEIGHT + place, place < INPUTS, EVEN)
            norm_bias = masked_load(NORM_BIAS + place, place < INPUTS, EVEN)
        wait_after_loads(PDL)
        input_row = input_rows(PLACES, row, rows, places_per_draft, places_stride, GATHER)
        residual = _load_if(RESIDUAL + input_row[:, None] * outputs + column[None, :], inside, ADD)
        x = _load_rows(X, input_row, x_place, place, x_stride, INPUTS, EVEN, NORM)
        allow_next_kernel(PDL)
        # Operands of a product straight from a load would make the compiler wait at the load.
        if NORM:
            x = split_inputs(normed_rows(x, norm_weight, norm_bias, epsilon, INPUTS), SLICES)
        else:
            x = tl.where(valid_row[None, :, None], x, 0.0)
        weight = tl.where(valid_column[None, None, :], weight, 0.0)
        y = split_k_product(x, weight, SLICES)
    else:
        if PDL:
            _prefetch_rows(WEIGHT, clamped_column, INPUTS, STEP)
        wait_after_loads(PDL)
        input_row = input_rows(PLACES, row, rows, places_per_draft, places_stride, GATHER)
        residual = _load_if(RESIDUAL + input_row[:, None] * outputs + column[None, :], inside, ADD)
        x_at = X + x_place + input_row[None, :, None] * x_stride
        allow_next_kernel(PDL)
        y = _stepwise_product(x_at, weight_at, x_place, weight_place, INPUTS, STEP, SLICES, TILE, COLUMNS)
    y = _rounded_output(y, bias, residual, OUT, HAS_BIAS, ACTIVATION, ADD)
    if BEAMS == 0:
        tl.store(OUT + row[:, None] * outputs + column[None, :], y, mask=inside)
    else:
        _store_queries_keys_values(OUT, KEYS, VALUES, y, row, first_column, column, inside, cache_stride, INPUTS, BEAMS)


def linear(
    x_NK: Tensor,
    weight_MK: Tensor,
    bias_M: Tensor | None,
    *,
    norm: nn.LayerNorm | None = None,
    activation: Activation | None = None,
    residual_NM: Tensor | None = None,
    places_RP: Tensor | None = None,
    blocks: Blocks | None = None,
) -> Tensor:
    """As in `kernels.reference`; `x_NK` may have any row stride."""
    assert residual_NM is None or residual_NM.is_contiguous()
    rows = len(x_NK) if places_RP is None else places_RP.numel()
    out_NM = torch.empty((rows, len(weight_MK)), dtype=x_NK.dtype, device=x_NK.device)
    _launch(
        x_NK,
        weight_MK,
        bias_M,
        norm,
        out_NM,
        activation=activation,
        residual_NM=residual_NM,
        places_RP=places_RP,
        blocks=blocks,
    )
    return out_NM


def scores(x_NK: Tensor, norm: nn.LayerNorm, weight_MK: Tensor, bias_M: Tensor) -> Tensor:
    """As in `kernels.reference`."""
    out_NM = torch.empty((len(x_NK), len(weight_MK)), dtype=torch.float32, device=x_NK.device)
    _launch(x_NK, weight_MK, bias_M, norm, out_NM)
    return out_NM


def linear_into(x_NK: Tensor, layer: nn.Linear, norm: nn.LayerNorm, keys: Tensor, values: Tensor) -> Tensor:
    """As in `kernels.reference`."""
    assert keys.stride() == values.stride()
    assert keys[0].is_contiguous()
    queries_ND = torch.empty_like(x_NK)
    _launch(x_NK, layer.weight, layer.bias, norm, queries_ND, keys=keys, values=values)
    return queries_ND


def _launch(
    x_NK: Tensor,
    weight_MK: Tensor,
    bias_M: Tensor | None,
    norm: nn.LayerNorm | None,
    out: Tensor,
    *,
    activation: Activation | None = None,
    residual_NM: Tensor | None = None,
    places_RP: Tensor | None = None,
    keys: Tensor | None = None,
    values: Tensor | None = None,
    blocks: Blocks | None = None,
) -> None:
    rows, (outputs, inputs) = len(out), weight_MK.shape
    assert x_NK.stride(1) == 1
    assert weight_MK.is_contiguous()
    places_per_draft, places_stride = (0, 0) if places_RP is None else (places_RP.shape[1], places_RP.stride(0))
    assert places_RP is None or places_RP.stride(1) == 1
    whole = norm is not None
    blocks = blocks or choose_blocks(rows, inputs, outputs, whole=whole, dividing=0 if keys is None else inputs)
    step = inputs_per_step(inputs, blocks.step, whole=whole)
    norm_weight, norm_bias = (None, None) if norm is None else (norm.weight, norm.bias)
    # `out` is the placeholder for pointers that the kernel does not use.
    _linear[(triton.cdiv(rows, blocks.tile), triton.cdiv(outputs, blocks.columns))](
        x_NK, weight_MK, _or(bias_M, out), _or(norm_weight, out), _or(norm_bias, out),
        _or(residual_NM, out), _or(places_RP, out), out, _or(keys, out), _or(values, out),
        rows, outputs, places_per_draft, x_NK.stride(0), places_stride, 0 if keys is None else keys.stride(0),
        0.0 if norm is None else norm.eps,
        inputs, step, split_k_slices(step, blocks.warps) if blocks.split_k else 1, blocks.tile, blocks.columns,
        bias_M is not None, norm is not None, ACTIVATIONS[activation], residual_NM is not None, places_RP is not None,
        0 if keys is None else keys.shape[1],
        num_warps=blocks.warps, num_stages=choose_stages(blocks, inputs, step, x_NK.element_size()),
        **launch_options(x_NK),
    )  # fmt: skip


def _or(tensor: Tensor | None, placeholder: Tensor) -> Tensor:
    return placeholder if tensor is None else tensor
