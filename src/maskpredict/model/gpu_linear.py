"""A linear layer for few rows and all around it in one launch: layer norm, non-linearity, residual sum (Triton).

With few rows a GPU waits for launches and for weights to arrive, not for arithmetic. So the output is cut into many
small blocks, and each program computes the norm of its rows again rather than wait for somebody who has. Products are
added up in float32 in one order, whatever the number of rows: a row comes out the same in any company.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

from maskpredict.model.fused_ops import Activation

LOW_TILE, HIGH_TILE = 16, 32
"""Rows that a program takes. Fewer than 16 are impossible; from 64 on, other instructions add up in another order."""
FEW_ROWS = 64
"""Rows up to which programs take few of them, so that there are enough programs."""
ENOUGH_PROGRAMS = 96
"""Programs that keep most of a large GPU's processors busy."""
ACTIVATIONS: dict[Activation | None, int] = {None: 0, "gelu": 1, "relu": 2}


@triton.jit
def row_statistics(X, row, real, x_stride, epsilon, INPUTS: tl.constexpr, WHOLE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Mean and inverse standard deviation of some rows."""
    place = tl.arange(0, WHOLE)[None, :]
    x = tl.load(X + row[:, None] * x_stride + place, mask=real[:, None] & (place < INPUTS), other=0.0).to(tl.float32)
    mean = tl.sum(x, 1) / INPUTS
    away = tl.where(place < INPUTS, x - mean[:, None], 0.0)
    return mean, 1.0 / tl.sqrt(tl.sum(away * away, 1) / INPUTS + epsilon)


@triton.jit
def normed(x, mean, scale, WEIGHT, BIAS, place):  # type: ignore[no-untyped-def]
    """Part of some rows after the layer norm, rounded as a norm of its own would round it."""
    weight, bias = tl.load(WEIGHT + place).to(tl.float32), tl.load(BIAS + place).to(tl.float32)
    return ((x.to(tl.float32) - mean[:, None]) * scale[:, None] * weight[None, :] + bias[None, :]).to(x.dtype)


@triton.jit(do_not_specialize=["rows"])
def _linear(  # type: ignore[no-untyped-def]
    X, WEIGHT, BIAS, NORM_WEIGHT, NORM_BIAS, RESIDUAL, OUT, KEYS, VALUES,
    rows, outputs, x_stride, cache_stride, epsilon,
    INPUTS: tl.constexpr, WHOLE: tl.constexpr, TILE: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr,
    HAS_BIAS: tl.constexpr, NORM: tl.constexpr, ACTIVATION: tl.constexpr, ADD: tl.constexpr, BEAMS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    first_column = tl.program_id(1) * COLUMNS
    column = first_column + tl.arange(0, COLUMNS)
    real, there = row < rows, column < outputs
    if NORM:
        mean, scale = row_statistics(X, row, real, x_stride, epsilon, INPUTS, WHOLE)
    # Two sums side by side: each product waits for the one before it in its sum.
    y, z = tl.zeros((TILE, COLUMNS), tl.float32), tl.zeros((TILE, COLUMNS), tl.float32)
    for first in range(0, INPUTS // 2, STEP):
        place = first + tl.arange(0, STEP)
        other = INPUTS // 2 + place
        x = tl.load(X + row[:, None] * x_stride + place[None, :], mask=real[:, None], other=0.0)
        other_x = tl.load(X + row[:, None] * x_stride + other[None, :], mask=real[:, None], other=0.0)
        weight = tl.load(WEIGHT + column[:, None] * INPUTS + place[None, :], mask=there[:, None], other=0.0)
        other_weight = tl.load(WEIGHT + column[:, None] * INPUTS + other[None, :], mask=there[:, None], other=0.0)
        if NORM:
            x = normed(x, mean, scale, NORM_WEIGHT, NORM_BIAS, place)
            other_x = normed(other_x, mean, scale, NORM_WEIGHT, NORM_BIAS, other)
        y = tl.dot(x, tl.trans(weight), y)
        z = tl.dot(other_x, tl.trans(other_weight), z)
    y += z
    if HAS_BIAS:
        y += tl.load(BIAS + column, mask=there, other=0.0).to(tl.float32)[None, :]
    if ACTIVATION == 1:
        y = 0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))
    if ACTIVATION == 2:
        y = tl.where(y > 0.0, y, 0.0)
    inside = real[:, None] & there[None, :]
    if ADD:
        y += tl.load(RESIDUAL + row[:, None] * outputs + column[None, :], mask=inside, other=0.0).to(tl.float32)
    y = y.to(OUT.dtype.element_ty)
    if BEAMS == 0:
        tl.store(OUT + row[:, None] * outputs + column[None, :], y, mask=inside)
    else:  # queries, keys and values, each as wide as the input; a program has columns of one of them only
        own = (column % INPUTS)[None, :]
        cached = (row // BEAMS)[:, None] * cache_stride + (row % BEAMS)[:, None] * INPUTS + own
        if first_column < INPUTS:
            tl.store(OUT + row[:, None] * INPUTS + own, y, mask=inside)
        elif first_column < 2 * INPUTS:
            tl.store(KEYS + cached, y, mask=inside)
        else:
            tl.store(VALUES + cached, y, mask=inside)


def linear(
    x_NK: Tensor,
    weight_MK: Tensor,
    bias_M: Tensor | None,
    *,
    norm: nn.LayerNorm | None = None,
    activation: Activation | None = None,
    residual_NM: Tensor | None = None,
) -> Tensor:
    """As in `fused_ops`; the rows of `x_NK` may lie apart."""
    assert residual_NM is None or residual_NM.is_contiguous()
    out_NM = torch.empty((len(x_NK), len(weight_MK)), dtype=x_NK.dtype, device=x_NK.device)
    _launch(x_NK, weight_MK, bias_M, norm, out_NM, activation=activation, residual_NM=residual_NM)
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
    keys: Tensor | None = None,
    values: Tensor | None = None,
) -> None:
    rows, (outputs, inputs) = len(x_NK), weight_MK.shape
    assert x_NK.stride(1) == 1
    assert weight_MK.is_contiguous()
    tile = LOW_TILE if rows <= FEW_ROWS else HIGH_TILE
    columns = columns_of(triton.cdiv(rows, tile), outputs, within=outputs if keys is None else inputs)
    norm_weight, norm_bias = (None, None) if norm is None else (norm.weight, norm.bias)
    # A pointer that is not there is not followed; any other stands in for it.
    _linear[(triton.cdiv(rows, tile), triton.cdiv(outputs, columns))](
        x_NK, weight_MK, _or(bias_M, out), _or(norm_weight, out), _or(norm_bias, out),
        _or(residual_NM, out), out, _or(keys, out), _or(values, out),
        rows, outputs, x_NK.stride(0), 0 if keys is None else keys.stride(0), 0.0 if norm is None else norm.eps,
        inputs, triton.next_power_of_2(inputs), tile, columns, step_of(inputs // 2, 128 if tile == LOW_TILE else 64),
        bias_M is not None, norm is not None, ACTIVATIONS[activation], residual_NM is not None,
        0 if keys is None else keys.shape[1], num_warps=4 if norm is None else warps_of(tile, inputs), num_stages=4,
    )  # fmt: skip


def columns_of(row_tiles: int, outputs: int, within: int) -> int:
    """Outputs for one program: as many as leave enough programs, and divide `within`."""
    return next((c for c in (64, 32) if row_tiles * outputs >= ENOUGH_PROGRAMS * c and within % c == 0), 16)


def warps_of(tile: int, inputs: int) -> int:
    """Warps of a program with a layer norm: enough to hold whole rows in registers, for their statistics."""
    return 4 if tile * inputs <= 8_192 else 8


def step_of(inputs: int, most: int) -> int:
    """Inputs that are multiplied at once: as many as fit into the memory of a processor, and divide all of them."""
    return next(step for step in (128, 64, 32, 16) if step <= most and inputs % step == 0)


def _or(tensor: Tensor | None, other: Tensor) -> Tensor:
    return other if tensor is None else tensor
