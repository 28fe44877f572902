"""Building blocks of kernels that multiply rows with weights: loads, layer norm, split-K products (Triton).

The warps of a program split the inputs (K): each multiplies a slice, and the slices' products are summed. With a single
slice, the warps split the outputs instead.
"""

from __future__ import annotations

import triton
import triton.language as tl

from maskpredict.kernels.pdl import wait_for_previous_kernel


@triton.jit
def masked_load(POINTERS, inside, ALL: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return a load with zeros outside the mask; `ALL` skips the mask."""
    if ALL:
        return tl.load(POINTERS)
    else:
        return tl.load(POINTERS, mask=inside, other=0.0)


@triton.jit
def normed_rows(x, norm_weight, norm_bias, epsilon, INPUTS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return rows after a layer norm, rounded as a separate layer norm rounds them.

    One reduction computes both sums, because a reduction synchronizes the warps. The squares lose less to rounding than
    half precision has lost already.
    """
    wide = x.to(tl.float32)
    total, squares = tl.split(tl.sum(tl.join(wide, wide * wide), 1))
    mean = total / INPUTS
    scale = 1.0 / tl.sqrt(tl.maximum(squares / INPUTS - mean * mean, 0.0) + epsilon)
    weight, bias = norm_weight.to(tl.float32)[None, :], norm_bias.to(tl.float32)[None, :]
    return ((wide - mean[:, None]) * scale[:, None] * weight + bias).to(x.dtype)


@triton.jit
def split_inputs(x, SLICES: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return rows [row, input] as split-K slices [slice, row, input]."""
    return tl.permute(tl.reshape(x, [x.shape[0], SLICES, x.shape[1] // SLICES]), [1, 0, 2])


@triton.jit
def sum_slices(y, SLICES: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the sum [row, output] over the slices of [row, output, slice]; its order depends on their number alone."""
    if SLICES == 1:
        return tl.reshape(y, [y.shape[0], y.shape[1]])
    elif SLICES == 2:
        even, odd = tl.split(y)
        return even + odd
    else:
        even, odd = tl.split(tl.reshape(y, [y.shape[0], y.shape[1], SLICES // 2, 2]))
        return sum_slices(even + odd, SLICES // 2)


@triton.jit
def split_k_product(x, weight, SLICES: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the product [row, output] of [slice, row, input] and [slice, input, output]."""
    if SLICES == 1:  # two dimensions can use larger matrix instructions
        return tl.dot(tl.reshape(x, [x.shape[1], x.shape[2]]), tl.reshape(weight, [weight.shape[1], weight.shape[2]]))
    else:
        return sum_slices(tl.permute(tl.dot(x, weight), [1, 2, 0]), SLICES)


@triton.jit
def wait_after_loads(PDL: tl.constexpr):  # type: ignore[no-untyped-def]
    """Wait for the previous kernel, and keep the compiler from moving the loads above it below it."""
    if PDL:
        wait_for_previous_kernel(PDL)
    else:
        tl.debug_barrier()


@triton.jit
def prefetch(POINTERS):  # type: ignore[no-untyped-def]
    """Prefetch a cache line of 128 bytes at each pointer into L2, without waiting."""
    address = POINTERS.to(tl.int64)
    tl.inline_asm_elementwise(
        "prefetch.global.L2 [$1]; mov.u32 $0, 0;", "=r,l", [address], dtype=tl.int32, is_pure=False, pack=1
    )


def inputs_per_step(inputs: int, most: int, *, whole: bool) -> int:
    """Return the number of inputs loaded at once: a power of 2, at most `most`, or the `whole` row for a layer norm."""
    power = int(triton.next_power_of_2(inputs))
    return power if whole else min(power, most)


def split_k_slices(step: int, warps: int) -> int:
    """Return the number of split-K slices: one per warp, of at least the 16 inputs that the matrix units take."""
    return min(warps, max(1, step // 16))
