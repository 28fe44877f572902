"""A linear layer for few rows and all around it in one launch: layer norm, non-linearity, residual sum (Triton).

With few rows a GPU waits for launches and for memory, not for arithmetic. So the output is cut into many small blocks,
each program computes the norm of its rows again rather than wait for somebody who has, and it asks for everything that
it needs before it waits for any of it. Its warps share the inputs among them, not the outputs: each multiplies a slice.
Products are added up in float32 in one order, so a row comes out the same in any company; but where there are so many
rows that arithmetic counts, warps share the outputs, and there is another order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

from maskpredict.kernels.matmul import (
    added_up,
    ask_for,
    normed_rows,
    part,
    product,
    sliced,
    slices_of,
    step_of,
    wait_once_asked,
)
from maskpredict.kernels.pdl import launch_options, let_the_next_kernel_start
from maskpredict.kernels.reference import Activation

PROCESSORS = 132
"""Of a large GPU; where there are fewer, programs take turns."""
TILES, COLUMNS = (16, 32), (16, 32, 64, 128)
"""Rows and outputs that a program may take. The matrix units take no fewer than 16 rows."""
WARPS = 8
"""Of a program, and slices of the inputs. One number for any number of rows, since it is part of the sums' order."""
STEP = 512
"""Inputs that are fetched at once where they are too many to be fetched all at once; part of the order, too."""
MOST_OF_X, MOST_OF_WEIGHT = 16_384, 65_536
"""Numbers of each that a program may hold, for the sake of its registers."""
MOST_IN_FLIGHT = 204_800
"""Bytes of both that a program may have asked for at once: what a processor's own memory holds, less some for sums."""
ACTIVATIONS: dict[Activation | None, int] = {None: 0, "gelu": 1, "relu": 2}


@dataclass(frozen=True)
class Blocks:
    """How the work is cut up."""

    tile: int
    """Rows of a program."""
    columns: int
    """Outputs of a program."""
    warps: int = WARPS
    step: int = STEP
    sliced: bool = True
    """Whether the warps share the inputs, rather than the outputs."""


FOR_MANY = Blocks(64, 64, sliced=False)
MOST_OF_MANY = 32_768
"""Numbers that one of those may hold of each, rows and weights."""


@triton.jit
def taken_rows(PLACES, row, rows, of_each, places_stride, PICK: tl.constexpr):  # type: ignore[no-untyped-def]
    """The rows of the batch that some rows of the output are made of. Past the end stands the last one once more."""
    any_row = tl.minimum(row, rows - 1)
    if PICK:
        return tl.load(PLACES + any_row // of_each * places_stride + any_row % of_each)
    else:
        return any_row


@triton.jit
def _activated(y, ACTIVATION: tl.constexpr):  # type: ignore[no-untyped-def]
    if ACTIVATION == 1:
        return 0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))
    else:
        return tl.where(y > 0.0, y, 0.0)


@triton.jit
def _store_third(  # type: ignore[no-untyped-def]
    QUERIES, KEYS, VALUES, y, row, first_column, column, inside, cache_stride, INPUTS: tl.constexpr, BEAMS: tl.constexpr
):
    """Of queries, keys and values, each as wide as the input, a program has columns of one only."""
    own = (column % INPUTS)[None, :]
    cached = (row // BEAMS)[:, None] * cache_stride + (row % BEAMS)[:, None] * INPUTS + own
    if first_column < INPUTS:
        tl.store(QUERIES + row[:, None] * INPUTS + own, y, mask=inside)
    elif first_column < 2 * INPUTS:
        tl.store(KEYS + cached, y, mask=inside)
    else:
        tl.store(VALUES + cached, y, mask=inside)


@triton.jit(do_not_specialize=["rows", "of_each", "places_stride"])
def _linear(  # type: ignore[no-untyped-def]
    X, WEIGHT, BIAS, NORM_WEIGHT, NORM_BIAS, RESIDUAL, PLACES, OUT, KEYS, VALUES,
    rows, outputs, of_each, x_stride, places_stride, cache_stride, epsilon,
    INPUTS: tl.constexpr, STEP: tl.constexpr, SLICES: tl.constexpr, TILE: tl.constexpr, COLUMNS: tl.constexpr,
    HAS_BIAS: tl.constexpr, NORM: tl.constexpr, ACTIVATION: tl.constexpr, ADD: tl.constexpr, PICK: tl.constexpr,
    BEAMS: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    first_column = tl.program_id(1) * COLUMNS
    column = first_column + tl.arange(0, COLUMNS)
    real, there = row < rows, column < outputs
    inside = real[:, None] & there[None, :]
    any_column = tl.minimum(column, outputs - 1)  # past the end stands the last one once more, and is thrown away
    SIZE: tl.constexpr = STEP // SLICES
    EVEN: tl.constexpr = INPUTS % STEP == 0
    slice_ = tl.arange(0, SLICES)[:, None, None] * SIZE
    x_place, weight_place = slice_ + tl.arange(0, SIZE)[None, None, :], slice_ + tl.arange(0, SIZE)[None, :, None]
    weight_at = WEIGHT + weight_place + any_column[None, None, :] * INPUTS
    if HAS_BIAS:
        bias = tl.load(BIAS + column, mask=there, other=0.0)
    if STEP >= INPUTS:  # everything at once
        weight = part(weight_at, weight_place < INPUTS, EVEN)
        if NORM:
            place = tl.arange(0, STEP)
            norm_weight = part(NORM_WEIGHT + place, place < INPUTS, EVEN)
            norm_bias = part(NORM_BIAS + place, place < INPUTS, EVEN)
        wait_once_asked(AHEAD)
        taken = taken_rows(PLACES, row, rows, of_each, places_stride, PICK)
        if ADD:
            residual = tl.load(RESIDUAL + taken[:, None] * outputs + column[None, :], mask=inside, other=0.0)
        if NORM:
            x = part(X + taken[:, None] * x_stride + place[None, :], (place < INPUTS)[None, :], EVEN)
        else:
            x = part(X + x_place + taken[None, :, None] * x_stride, x_place < INPUTS, EVEN)
            tl.debug_barrier()
        let_the_next_kernel_start(AHEAD)
        # What is multiplied as it comes would be waited for where it is asked for.
        if NORM:
            x = sliced(normed_rows(x, norm_weight, norm_bias, epsilon, INPUTS), SLICES)
        else:
            x = tl.where(real[None, :, None], x, 0.0)
        weight = tl.where(there[None, None, :], weight, 0.0)
        y = product(x, weight, SLICES)
    else:
        if AHEAD:
            for first in tl.static_range(0, INPUTS, STEP):
                line = tl.minimum(first + tl.arange(0, STEP // 64) * 64, INPUTS - 1)
                ask_for(WEIGHT + any_column[:, None] * INPUTS + line[None, :])
        wait_once_asked(AHEAD)
        taken = taken_rows(PLACES, row, rows, of_each, places_stride, PICK)
        if ADD:
            residual = tl.load(RESIDUAL + taken[:, None] * outputs + column[None, :], mask=inside, other=0.0)
        x_at = X + x_place + taken[None, :, None] * x_stride
        let_the_next_kernel_start(AHEAD)
        y = tl.zeros((SLICES, TILE, COLUMNS), tl.float32)
        for first in range(0, INPUTS, STEP):
            x = part(x_at + first, x_place < INPUTS - first, EVEN)
            weight = part(weight_at + first, weight_place < INPUTS - first, EVEN)
            y = tl.dot(x, weight, y)
        y = added_up(tl.permute(y, [1, 2, 0]), SLICES)
    if HAS_BIAS:
        y += bias.to(tl.float32)[None, :]
    # Rounded wherever layers of their own would write it down, so that near ties are decided as they decide them.
    if ACTIVATION != 0:
        y = _activated(y.to(OUT.dtype.element_ty).to(tl.float32), ACTIVATION)
    if ADD:
        y = y.to(OUT.dtype.element_ty).to(tl.float32) + residual.to(tl.float32)
    y = y.to(OUT.dtype.element_ty)
    if BEAMS == 0:
        tl.store(OUT + row[:, None] * outputs + column[None, :], y, mask=inside)
    else:
        _store_third(OUT, KEYS, VALUES, y, row, first_column, column, inside, cache_stride, INPUTS, BEAMS)


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
    """As in `fused_ops`; the rows of `x_NK` may lie apart."""
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
    """As in `fused_ops`."""
    out_NM = torch.empty((len(x_NK), len(weight_MK)), dtype=torch.float32, device=x_NK.device)
    _launch(x_NK, weight_MK, bias_M, norm, out_NM)
    return out_NM


def linear_into(x_NK: Tensor, layer: nn.Linear, norm: nn.LayerNorm, keys: Tensor, values: Tensor) -> Tensor:
    """As in `fused_ops`."""
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
    of_each, places_stride = (0, 0) if places_RP is None else (places_RP.shape[1], places_RP.stride(0))
    assert places_RP is None or places_RP.stride(1) == 1
    whole = norm is not None
    blocks = blocks or blocks_of(rows, inputs, outputs, whole=whole, dividing=0 if keys is None else inputs)
    step = step_of(inputs, blocks.step, whole=whole)
    norm_weight, norm_bias = (None, None) if norm is None else (norm.weight, norm.bias)
    # A pointer that is not there is not followed; any other stands in for it.
    _linear[(triton.cdiv(rows, blocks.tile), triton.cdiv(outputs, blocks.columns))](
        x_NK, weight_MK, _or(bias_M, out), _or(norm_weight, out), _or(norm_bias, out),
        _or(residual_NM, out), _or(places_RP, out), out, _or(keys, out), _or(values, out),
        rows, outputs, of_each, x_NK.stride(0), places_stride, 0 if keys is None else keys.stride(0),
        0.0 if norm is None else norm.eps,
        inputs, step, slices_of(step, blocks.warps) if blocks.sliced else 1, blocks.tile, blocks.columns,
        bias_M is not None, norm is not None, ACTIVATIONS[activation], residual_NM is not None, places_RP is not None,
        0 if keys is None else keys.shape[1],
        num_warps=blocks.warps, num_stages=stages_of(blocks, inputs, step, x_NK.element_size()), **launch_options(x_NK),
    )  # fmt: skip


@cache
def blocks_of(rows: int, inputs: int, outputs: int, *, whole: bool, dividing: int = 0) -> Blocks:
    """The blocks with which the busiest processor fetches least; their columns divide `dividing`, if that is not 0."""
    step = step_of(inputs, STEP, whole=whole)

    def fetched(blocks: Blocks) -> int:
        programs = triton.cdiv(rows, blocks.tile) * triton.cdiv(outputs, blocks.columns)
        return int(triton.cdiv(programs, PROCESSORS)) * (blocks.tile + blocks.columns)

    tiles = [tile for tile in TILES if tile * step <= MOST_OF_X] or TILES[:1]
    # Of several steps, the weights of the next are fetched while those of one are multiplied.
    most = MOST_OF_WEIGHT if step >= inputs else MOST_OF_WEIGHT // 2
    columns = [count for count in COLUMNS if count * step <= most and dividing % count == 0] or COLUMNS[:1]
    ways = [Blocks(tile, count) for tile in tiles for count in columns]
    if (
        step >= inputs
        and max(FOR_MANY.tile, FOR_MANY.columns) * step <= MOST_OF_MANY
        and dividing % FOR_MANY.columns == 0
    ):
        ways.append(FOR_MANY)
    return min(ways, key=fetched)


def stages_of(blocks: Blocks, inputs: int, step: int, bytes_each: int) -> int:
    """How far a program asks ahead: for all steps at once, if there is room for them."""
    room = MOST_IN_FLIGHT // ((blocks.tile + blocks.columns) * step * bytes_each)
    return 1 + max(1, min(int(triton.cdiv(inputs, step)), room))


def _or(tensor: Tensor | None, other: Tensor) -> Tensor:
    return other if tensor is None else tensor
