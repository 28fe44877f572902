"""Weights and matrix products in eight bits.

A row of a weight matrix is stored as whole numbers from -127 to 127 and one scale. For a product, each row of the input
is rounded in the same way with a scale of its own, as it comes. Sums of whole numbers are exact, so a row of the result
depends on that row of the input alone: not on the shape of the batch, the number of threads or the order of the sums.
"""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn

from maskpredict.cpu import int8_sums_saturate
from maskpredict.model.int8_matrix import MAX_INT8, Int8Matrix


class Int8Linear(nn.Module):
    """Does what `nn.Linear` does, to about two digits and several times faster on a CPU with AVX2."""

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
        return Int8Matrix(weight.int_repr().numpy(), weight.q_per_channel_scales().float().numpy())

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


def input_levels() -> int:
    """Highest number that an input may become."""
    return MAX_INT8 // 2 if int8_sums_saturate() else MAX_INT8


def _packed(matrix: Int8Matrix) -> torch.ScriptObject:
    """The weights in the order in which FBGEMM's kernels read them."""
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = "fbgemm"
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*deprecated", category=UserWarning)
            zeros = torch.zeros(len(matrix.scales), dtype=torch.long)
            weight = torch._make_per_channel_quantized_tensor(
                torch.as_tensor(matrix.numbers), torch.as_tensor(matrix.scales).double(), zeros, 0
            )
            packed: torch.ScriptObject = torch.ops.quantized.linear_prepack(weight, None)
            return packed
    finally:
        torch.backends.quantized.engine = before
