"""Weights and matrix products in eight bits.

A row of a weight matrix is stored as whole numbers from -127 to 127 and one scale. For a product, each row of the input
is rounded in the same way with a scale of its own, as it comes. Sums of whole numbers are exact, so a row of the result
depends on that row of the input alone: not on the shape of the batch, the number of threads or the order of the sums.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import torch
from torch import Tensor, nn

LARGEST = 127
"""Highest number that a weight may become."""


@dataclass(frozen=True)
class Int8Matrix:
    """A matrix in eight bits."""

    numbers: Tensor
    """int8 [O, I]."""
    scales: Tensor
    """float32 [O]: what a 1 stands for in each row."""

    @classmethod
    def of(cls, weight: Tensor) -> Int8Matrix:
        """The matrix rounded to eight bits."""
        weight = weight.float()
        # A row of zeros may have any scale but zero.
        scales = weight.abs().amax(1).clamp(min=torch.finfo(torch.float32).tiny) / LARGEST
        return cls((weight / scales[:, None]).round().to(torch.int8), scales)

    def in_seven_bits(self) -> Int8Matrix:
        """The same, less exactly, with numbers from -64 to 64."""
        return Int8Matrix((self.numbers / 2).round().to(torch.int8), 2 * self.scales)

    def restored(self) -> Tensor:
        """The matrix in float32."""
        return self.numbers.float() * self.scales[:, None]


class Int8Linear(nn.Module):
    """Does what `nn.Linear` does, to about two digits, several times faster on a CPU that `is_available` approves."""

    def __init__(self, matrix: Int8Matrix, bias: Tensor | None) -> None:
        super().__init__()
        self.packed, self.bias = _packed(matrix), bias
        self.levels = input_levels()
        # Called as `torch.ops.quantized...` it would look for tracers first, each time.
        self.multiply = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32.default._op
        self.weight = torch.empty(0)  # those who ask for a layer's weight want to know where it is and of which type

    @property
    def matrix(self) -> Int8Matrix:
        """The weights, as they were before they were packed."""
        weight, _ = torch.ops.quantized.linear_unpack(self.packed)
        return Int8Matrix(weight.int_repr(), weight.q_per_channel_scales().float())

    def forward(self, x: Tensor) -> Tensor:
        """x [..., I] -> [..., O]."""
        size = x.abs().amax(-1, keepdim=True)
        return self._product(x / size, size)

    def consume(self, x: Tensor) -> Tensor:
        """The same, for an input that nobody needs any more: it is overwritten."""
        size = x.abs().amax(-1, keepdim=True)
        return self._product(x.div_(size), size)

    def _product(self, x: Tensor, size: Tensor) -> Tensor:
        """The product with x * size; no number in x is beyond 1 or -1.

        A row of zeros comes as 0 / 0, rounds to some number, and is multiplied by its size 0 again.
        """
        y = self.multiply(x, 1 / self.levels, self.levels + 1, self.packed)
        return y.mul_(size) if self.bias is None else torch.addcmul(self.bias, y, size, out=y)


def is_available() -> bool:
    """True when this computer has the instructions, and this PyTorch the kernels, that make eight bits fast."""
    return "fbgemm" in torch.backends.quantized.supported_engines and torch.cpu._is_avx2_supported()


def sums_overflow() -> bool:
    """True when this computer adds products of eight-bit numbers in pairs in sixteen bits, which may be too few.

    CPUs with the VNNI instructions do not. With seven bits for either factor, sums fit everywhere.
    """
    return not torch.cpu._is_vnni_supported()


def input_levels() -> int:
    """Highest number that an input may become."""
    return LARGEST // 2 if sums_overflow() else LARGEST


def _packed(matrix: Int8Matrix) -> torch.ScriptObject:
    """The weights in the order in which FBGEMM's kernels read them."""
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = "fbgemm"
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*deprecated", category=UserWarning)
            zeros = torch.zeros(len(matrix.scales), dtype=torch.long)
            weight = torch._make_per_channel_quantized_tensor(matrix.numbers, matrix.scales.double(), zeros, 0)
            packed: torch.ScriptObject = torch.ops.quantized.linear_prepack(weight, None)
            return packed
    finally:
        torch.backends.quantized.engine = before
