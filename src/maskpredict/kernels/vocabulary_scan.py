"""Log-sum-exp and maximum of rows of logits in one pass on a GPU, over all tokens or groups of them (Triton)."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from maskpredict.kernels.pdl import allow_next_kernel, launch_options, wait_for_previous_kernel

BLOCK = 2048
"""Logits that a program holds at once."""


@triton.jit
def _scan(  # type: ignore[no-untyped-def]
    LOGITS, NORM, HIGHEST, stride,
    VOCABULARY: tl.constexpr, GROUP: tl.constexpr, BLOCK: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    groups: tl.constexpr = (VOCABULARY + GROUP - 1) // GROUP
    row = tl.program_id(0).to(tl.int64)
    wait_for_previous_kernel(PDL)
    allow_next_kernel(PDL)
    highest, total = float("-inf"), 0.0
    for first in range(0, VOCABULARY, BLOCK):
        place = first + tl.arange(0, BLOCK)
        x = tl.load(LOGITS + row * stride + place, mask=place < VOCABULARY, other=float("-inf")).to(tl.float32)
        of_group = tl.max(tl.reshape(x, (BLOCK // GROUP, GROUP)), 1)
        group = first // GROUP + tl.arange(0, BLOCK // GROUP)
        tl.store(HIGHEST + row * groups + group, of_group, mask=group < groups)
        higher = tl.maximum(highest, tl.max(of_group, 0))
        total = total * tl.exp(highest - higher) + tl.sum(tl.exp(x - higher), 0)
        highest = higher
    tl.store(NORM + row, highest + tl.log(total))


@triton.jit
def _best(LOGITS, NORM, VALUE, PLACE, stride, VOCABULARY: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0).to(tl.int64)
    highest, total, best = float("-inf"), 0.0, 0
    for first in range(0, VOCABULARY, BLOCK):
        place = first + tl.arange(0, BLOCK)
        x = tl.load(LOGITS + row * stride + place, mask=place < VOCABULARY, other=float("-inf")).to(tl.float32)
        of_block = tl.max(x, 0)
        best = tl.where(of_block > highest, first + tl.argmax(x, 0), best)
        higher = tl.maximum(highest, of_block)
        total = total * tl.exp(highest - higher) + tl.sum(tl.exp(x - higher), 0)
        highest = higher
    tl.store(NORM + row, highest + tl.log(total))
    tl.store(VALUE + row, highest)
    tl.store(PLACE + row, best)


def best(logits_RV: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the log-sum-exp of each row, its highest logit, both float32, and that token, the lowest id of equals.

    The first BLOCK logits of a row must not all be -inf.
    """
    rows, vocabulary = logits_RV.shape
    norm_R, value_R = torch.empty((2, rows), dtype=torch.float32, device=logits_RV.device)
    place_R = torch.empty(rows, dtype=torch.long, device=logits_RV.device)
    _best[(rows,)](logits_RV, norm_R, value_R, place_R, logits_RV.stride(0), vocabulary, BLOCK)
    return norm_R, value_R, place_R


def scan(logits_RV: Tensor, group: int) -> tuple[Tensor, Tensor]:
    """Return the log-sum-exp of each row, and the highest logit of each group of `group` tokens; both float32.

    The first BLOCK logits of a row must not all be -inf.
    """
    rows, vocabulary = logits_RV.shape
    norm_R = torch.empty(rows, dtype=torch.float32, device=logits_RV.device)
    highest_RG = torch.empty((rows, -(-vocabulary // group)), dtype=torch.float32, device=logits_RV.device)
    options = launch_options(logits_RV)
    _scan[(rows,)](logits_RV, norm_R, highest_RG, logits_RV.stride(0), vocabulary, group, BLOCK, **options)
    return norm_R, highest_RG
