"""Linear layers in int8 with dynamic quantization of the inputs.

A row of a weight matrix is stored as integers from -127 to 127 and one scale. Each row of the input is quantized in the
same way. Sums of integers are exact, so a row of the result depends on that row of the input alone: not on the shape of
the batch, the number of threads or the order of the sums.
"""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn

from maskpredict.cpu import int8_sums_saturate
from maskpredict.model.int8_matrix import MAX_INT8, Int8Matrix


class Int8Linear(nn.Module):
    """`nn.Linear` to about two digits, several times faster on a CPU with AVX2."""

    def __init__(self, matrix: Int8Matrix, bias: Tensor | None) -> None:
        super().__init__()
        self.packed, self.bias = _packed(matrix), bias
        self.levels = input_levels()
        # `torch.ops.quantized...` itself would look for tracers at each call.
        self.multiply = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32.default._op
        self.weight = torch.empty(0)  # callers read the device and dtype of a layer's weight

    @property
    def matrix(self) -> Int8Matrix:
        """The weights, unpacked."""
        weight, _ = torch.ops.quantized.linear_unpack(self.packed)
        return Int8Matrix(weight.int_repr().numpy(), weight.q_per_channel_scales().float().numpy())

    def forward(self, x: Tensor) -> Tensor:
        """Return x [..., I] times the weights, [..., O]."""
        size = x.abs().amax(-1, keepdim=True)
        return self._product(x / size, size)

    def consume(self, x: Tensor) -> Tensor:
        """Return what `forward` returns, and overwrite the input."""
        size = x.abs().amax(-1, keepdim=True)
        return self._product(x.div_(size), size)

    def _product(self, x: Tensor, size: Tensor) -> Tensor:
        """Return the product with x * size, for x between -1 and 1.

        A row of zeros arrives as 0 / 0, is quantized to any number, and is multiplied by its size of 0.
        """
        y = self.multiply(x, 1 / self.levels, self.levels + 1, self.packed)
        return y.mul_(size) if self.bias is None else torch.addcmul(self.bias, y, size, out=y)


def input_levels() -> int:
    """Return the largest quantized input: half the range on CPUs whose int8 sums saturate."""
    return MAX_INT8 // 2 if int8_sums_saturate() else MAX_INT8


def _packed(matrix: Int8Matrix) -> torch.ScriptObject:
    """Return the weights in FBGEMM's memory layout."""
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
