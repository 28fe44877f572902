"""What kernels that multiply rows with weights have in common: fetching, layer norm, products in slices (Triton).

The warps of a program share the inputs among them: each multiplies a slice, and the slices' products are added up. With
a single slice they share the outputs instead.
"""

from __future__ import annotations

import triton
import triton.language as tl

from maskpredict.kernels.pdl import wait_for_the_kernel_before


@triton.jit
def part(AT, inside, ALL: tl.constexpr):  # type: ignore[no-untyped-def]
    """What lies at some places, and zeros instead of what is not inside; `ALL` of it may be."""
    if ALL:
        return tl.load(AT)
    else:
        return tl.load(AT, mask=inside, other=0.0)


@triton.jit
def normed_rows(x, norm_weight, norm_bias, epsilon, INPUTS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Some rows after the layer norm, rounded as a norm of its own would round them.

    Both sums in one go, since warps have to wait for each other to add up. What the squares lose to rounding is less
    than what numbers in half precision have lost already.
    """
    wide = x.to(tl.float32)
    total, squares = tl.split(tl.sum(tl.join(wide, wide * wide), 1))
    mean = total / INPUTS
    scale = 1.0 / tl.sqrt(tl.maximum(squares / INPUTS - mean * mean, 0.0) + epsilon)
    weight, bias = norm_weight.to(tl.float32)[None, :], norm_bias.to(tl.float32)[None, :]
    return ((wide - mean[:, None]) * scale[:, None] * weight + bias).to(x.dtype)


@triton.jit
def sliced(x, SLICES: tl.constexpr):  # type: ignore[no-untyped-def]
    """Rows [row, input] cut up into [slice, row, input]."""
    return tl.permute(tl.reshape(x, [x.shape[0], SLICES, x.shape[1] // SLICES]), [1, 0, 2])


@triton.jit
def added_up(y, SLICES: tl.constexpr):  # type: ignore[no-untyped-def]
    """Sum [row, output] over the slices of [row, output, slice], in an order that depends on their number alone."""
    if SLICES == 1:
        return tl.reshape(y, [y.shape[0], y.shape[1]])
    elif SLICES == 2:
        even, odd = tl.split(y)
        return even + odd
    else:
        even, odd = tl.split(tl.reshape(y, [y.shape[0], y.shape[1], SLICES // 2, 2]))
        return added_up(even + odd, SLICES // 2)


@triton.jit
def product(x, weight, SLICES: tl.constexpr):  # type: ignore[no-untyped-def]
    """[row, output] of [slice, row, input] and [slice, input, output]."""
    if SLICES == 1:  # in two dimensions, for which there are larger matrix units
        return tl.dot(tl.reshape(x, [x.shape[1], x.shape[2]]), tl.reshape(weight, [weight.shape[1], weight.shape[2]]))
    else:
        return added_up(tl.permute(tl.dot(x, weight), [1, 2, 0]), SLICES)


@triton.jit
def wait_once_asked(AHEAD: tl.constexpr):  # type: ignore[no-untyped-def]
    """What stands above asks for memory before what stands below; else the compiler would put off half of it."""
    if AHEAD:
        wait_for_the_kernel_before(AHEAD)
    else:
        tl.debug_barrier()


@triton.jit
def ask_for(AT):  # type: ignore[no-untyped-def]
    """Have what lies at some places brought into the GPU's cache, 128 bytes at a time, and do not wait for it."""
    tl.inline_asm_elementwise(
        "prefetch.global.L2 [$1]; mov.u32 $0, 0;", "=r,l", [AT.to(tl.int64)], dtype=tl.int32, is_pure=False, pack=1
    )


def step_of(inputs: int, most: int, *, whole: bool) -> int:
    """Inputs that are fetched at once: a power of 2. A layer norm needs the whole row."""
    power = int(triton.next_power_of_2(inputs))
    return power if whole else min(power, most)


def slices_of(step: int, warps: int) -> int:
    """One for each warp, if that leaves the 16 inputs that the matrix units take at once."""
    return min(warps, max(1, step // 16))
