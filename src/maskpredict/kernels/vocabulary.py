"""The best token of each vocabulary block, without storing the logits (Triton).

One kernel applies the layer norm. In a second one, each program multiplies a tile of rows with the weights of a block,
in a software pipeline over the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

from maskpredict.kernels.matmul import masked_load, normed_rows
from maskpredict.kernels.pdl import allow_next_kernel, launch_options, wait_for_previous_kernel
from maskpredict.kernels.reference import VOCABULARY_BLOCK, BlockBests

WARPS = 4
NORM_ROWS = 4
"""Rows per program of the layer norm."""


@dataclass(frozen=True)
class Tile:
    """Tile sizes of the matrix product."""

    rows: int
    """Rows per program."""
    inputs: int
    """Inputs per step."""
    stages: int
    """Pipeline stages."""


TILES_BY_ROWS = (Tile(16, 128, 4), Tile(32, 128, 3), Tile(64, 64, 4))
"""By number of rows: the first tile that holds all of them is used, else the last."""


@triton.jit(do_not_specialize=["rows"])
def _normed(  # type: ignore[no-untyped-def]
    X, WEIGHT, BIAS, OUT, rows, x_stride, epsilon,
    INPUTS: tl.constexpr, WHOLE: tl.constexpr, TILE: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    row, place = tl.program_id(0) * TILE + tl.arange(0, TILE), tl.arange(0, WHOLE)
    inside = place < INPUTS
    EVEN: tl.constexpr = INPUTS == WHOLE
    weight, bias = masked_load(WEIGHT + place, inside, EVEN), masked_load(BIAS + place, inside, EVEN)
    wait_for_previous_kernel(PDL)
    allow_next_kernel(PDL)
    x = masked_load(X + tl.minimum(row, rows - 1)[:, None] * x_stride + place[None, :], inside[None, :], EVEN)
    normed = normed_rows(x, weight, bias, epsilon, INPUTS)
    tl.store(OUT + row[:, None] * INPUTS + place[None, :], normed, mask=(row < rows)[:, None] & inside[None, :])


@triton.jit(do_not_specialize=["rows"])
def _block_bests(  # type: ignore[no-untyped-def]
    X, WEIGHT, PENALTY, HIGHEST, TOTAL, TOKEN, rows, vocabulary,
    INPUTS: tl.constexpr, STEP: tl.constexpr, STAGES: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    row, block = tl.program_id(0) * TILE + tl.arange(0, TILE), tl.program_id(1)
    token, place = block * BLOCK + tl.arange(0, BLOCK), tl.arange(0, STEP)
    EVEN: tl.constexpr = INPUTS % STEP == 0
    # Past the end, the last row and token are loaded again; rows are not stored, and tokens get a penalty of -inf.
    clamped_row, clamped_token = tl.minimum(row, rows - 1), tl.minimum(token, vocabulary - 1).to(tl.int64)
    penalty = tl.load(PENALTY + token, mask=token < vocabulary, other=float("-inf"))
    wait_for_previous_kernel(PDL)
    allow_next_kernel(PDL)
    logits = tl.zeros((TILE, BLOCK), tl.float32)
    for first in tl.range(0, INPUTS, STEP, num_stages=STAGES):
        inside = first + place < INPUTS
        x = masked_load(X + clamped_row[:, None] * INPUTS + first + place[None, :], inside[None, :], EVEN)
        weight = masked_load(WEIGHT + first + place[:, None] + clamped_token[None, :] * INPUTS, inside[:, None], EVEN)
        logits = tl.dot(x, weight, logits)
    logits += penalty[None, :]
    highest = tl.max(logits, 1)
    base = tl.where(highest == float("-inf"), 0.0, highest)
    best = tl.min(tl.where(logits == highest[:, None], token[None, :], vocabulary - 1), 1)  # the lowest of equals
    out = block * rows + row
    tl.store(HIGHEST + out, highest, mask=row < rows)
    tl.store(TOTAL + out, tl.sum(tl.exp(logits - base[:, None]), 1), mask=row < rows)
    tl.store(TOKEN + out, best, mask=row < rows)


def block_bests(
    x_NK: Tensor, norm: nn.LayerNorm, weight_VK: Tensor, penalty_V: Tensor, *, tile: Tile | None = None
) -> BlockBests:
    """As in `kernels.reference`."""
    rows, inputs = x_NK.shape
    vocabulary = len(weight_VK)
    blocks = triton.cdiv(vocabulary, VOCABULARY_BLOCK)
    highest_GN, total_GN = torch.empty((2, blocks, rows), dtype=torch.float32, device=x_NK.device)
    token_GN = torch.empty((blocks, rows), dtype=torch.int32, device=x_NK.device)
    assert x_NK.stride(1) == 1
    assert weight_VK.is_contiguous()
    options = {"num_warps": WARPS, **launch_options(x_NK)}
    normed_NK = torch.empty((rows, inputs), dtype=x_NK.dtype, device=x_NK.device)
    _normed[(triton.cdiv(rows, NORM_ROWS),)](
        x_NK, norm.weight, norm.bias, normed_NK, rows, x_NK.stride(0), norm.eps,
        inputs, triton.next_power_of_2(inputs), NORM_ROWS, **options,
    )  # fmt: skip
    tile = tile or choose_tile(rows)
    step = min(tile.inputs, triton.next_power_of_2(inputs))
    _block_bests[(triton.cdiv(rows, tile.rows), blocks)](
        normed_NK, weight_VK, penalty_V, highest_GN, total_GN, token_GN, rows, vocabulary,
        inputs, step, tile.stages, tile.rows, VOCABULARY_BLOCK, num_stages=tile.stages, **options,
    )  # fmt: skip
    return BlockBests(highest_GN, total_GN, token_GN)


def choose_tile(rows: int) -> Tile:
    """Return the fastest tile for this number of rows."""
    return next((tile for tile in TILES_BY_ROWS if rows <= tile.rows), TILES_BY_ROWS[-1])
