"""Eight bits: close to the float it stands for, and exact about rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn

from maskpredict.cpu import int8_sums_saturate
from maskpredict.engines.int8.linear import Int8Linear
from maskpredict.model.int8_matrix import MAX_INT8, Int8Matrix


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def linear(inputs: int = 96, outputs: int = 200, *, bias: bool = True) -> nn.Linear:
    torch.manual_seed(inputs)
    return nn.Linear(inputs, outputs, bias=bias)


def in_int8(layer: nn.Linear) -> Int8Linear:
    return Int8Linear(Int8Matrix.of(layer.weight.detach().numpy()), None if layer.bias is None else layer.bias.detach())


def error(got: Tensor, wanted: Tensor) -> float:
    return float((got - wanted).norm() / wanted.norm())


@torch.inference_mode()
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("inputs", "outputs"), [(16, 32), (96, 200), (512, 33)])
def test_a_layer_is_close_to_the_one_it_stands_for(inputs: int, outputs: int, bias: bool) -> None:
    layer = linear(inputs, outputs, bias=bias)
    x = torch.randn(3, 5, inputs) * torch.tensor([1e-3, 1.0, 7.0, 50.0, 1e3])[:, None]
    got, wanted = in_int8(layer)(x), layer(x)
    assert got.shape == wanted.shape
    assert all(error(got[:, place], wanted[:, place]) < 0.02 for place in range(5))


@torch.inference_mode()
def test_seven_bits_for_cpus_without_vnni_are_half_as_exact() -> None:
    layer, x = linear(), torch.randn(50, 96)
    chosen, seven = in_int8(layer), in_int8(layer)
    seven.levels = MAX_INT8 // 2
    assert error(seven(x), layer(x)) < 0.03
    if int8_sums_saturate():
        assert chosen.levels == seven.levels
    else:
        assert error(chosen(x), layer(x)) < error(seven(x), layer(x))


@torch.inference_mode()
def test_the_largest_sums_do_not_overflow() -> None:
    layer = linear(96, 8)
    layer.weight.data.fill_(0.5)
    x = torch.ones(3, 96)
    assert error(in_int8(layer)(x), layer(x)) < 0.01


@torch.inference_mode()
def test_an_input_of_zeros_gives_the_bias() -> None:
    layer = linear()
    assert torch.equal(in_int8(layer)(torch.zeros(2, 96)), layer.bias.expand(2, -1))


@torch.inference_mode()
@pytest.mark.parametrize("thread_count", [1, 2, 3])
def test_a_row_does_not_depend_on_the_batch(threads: Callable[[int], None], thread_count: int) -> None:
    layer, x = in_int8(linear(128, 400)), torch.randn(300, 128)
    together = layer(x)
    threads(thread_count)
    for rows in (slice(0, 1), slice(3, 10), slice(17, 116), slice(0, 300)):
        assert torch.equal(layer(x[rows]), together[rows])


@torch.inference_mode()
def test_consuming_an_input_gives_the_same_and_forward_leaves_it_alone() -> None:
    layer, x = in_int8(linear()), torch.randn(9, 96)
    kept = x.clone()
    y = layer(x)
    assert torch.equal(x, kept)
    assert torch.equal(layer.consume(x), y)
