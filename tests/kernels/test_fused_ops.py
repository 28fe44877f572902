"""Each kernel against the plain function of the same name."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from maskpredict.kernels import reference
from maskpredict.kernels.reference import Activation, Ops
from maskpredict.model.best_tokens import best_tokens
from maskpredict.model.transformer import unrounded_product

HALF = torch.float16
"""Triton's interpreter cannot multiply in bfloat16."""


def numbers(*shape: int, device: torch.device, seed: int = 1) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(device, HALF)


def layer_norm(width: int, device: torch.device) -> nn.LayerNorm:
    norm = nn.LayerNorm(width, eps=1e-12).to(device, HALF)
    for seed, parameter in enumerate(norm.parameters()):
        parameter.data = numbers(width, device=device, seed=seed)
    return norm


def linear_layer(inputs: int, outputs: int, device: torch.device) -> nn.Linear:
    layer = nn.Linear(inputs, outputs).to(device, HALF)
    layer.weight.data = numbers(outputs, inputs, device=device, seed=5) / inputs**0.5
    layer.bias.data = numbers(outputs, device=device, seed=6)
    return layer


def assert_near(got: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(got, wanted, rtol=4e-3, atol=4e-3)


def assert_same(got: Tensor, wanted: Tensor) -> None:
    """To the last bit on a GPU; Triton's interpreter multiplies with NumPy, which on some CPUs adds up the same row in
    another order when there are other rows beside it."""
    near = 0.0 if got.is_cuda else 1e-5 if got.dtype == torch.float32 else 1e-3
    torch.testing.assert_close(got, wanted, rtol=near, atol=near)


@torch.inference_mode()
@pytest.mark.parametrize("rows", [1, 8, 16, 40, 70])
@pytest.mark.parametrize(("inputs", "outputs"), [(32, 96), (64, 37), (96, 96), (128, 384)])
def test_norm_and_linear_layer(gpu_ops: Ops, kernel_device: torch.device, rows: int, inputs: int, outputs: int) -> None:
    x, norm = numbers(rows, inputs, device=kernel_device), layer_norm(inputs, kernel_device)
    layer = linear_layer(inputs, outputs, kernel_device)
    wanted = reference.linear(x, layer.weight, layer.bias, norm=norm)
    assert_near(gpu_ops.linear(x, layer.weight, layer.bias, norm=norm), wanted)


@torch.inference_mode()
@pytest.mark.parametrize("activation", [None, "gelu", "relu"])
@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_linear_layer_with_optional_parts(
    gpu_ops: Ops, kernel_device: torch.device, activation: Activation | None, normed: bool, added: bool, biased: bool
) -> None:
    x, layer = numbers(20, 64, device=kernel_device), linear_layer(64, 48, kernel_device)
    norm = layer_norm(64, kernel_device) if normed else None
    residual = numbers(20, 48, device=kernel_device, seed=9) if added else None
    got, wanted = (
        ops.linear(
            x, layer.weight, layer.bias if biased else None, norm=norm, activation=activation, residual_NM=residual
        )
        for ops in (gpu_ops, reference)
    )
    assert_near(got, wanted)


@torch.inference_mode()
@pytest.mark.parametrize(("activation", "added"), [("gelu", False), (None, True), ("gelu", True)])
def test_a_fused_linear_layer_rounds_where_separate_layers_do(
    gpu_ops: Ops, kernel_device: torch.device, activation: Activation | None, added: bool
) -> None:
    x, layer = numbers(40, 256, device=kernel_device), linear_layer(256, 512, kernel_device)
    residual = 8 * numbers(40, 512, device=kernel_device, seed=9) if added else None
    got, wanted = (
        ops.linear(x, layer.weight, layer.bias, activation=activation, residual_NM=residual)
        for ops in (gpu_ops, reference)
    )
    assert (got == wanted).float().mean() > 0.99  # but for sums that lie just between two numbers


@torch.inference_mode()
def test_rows_of_a_linear_layer_may_have_any_stride(gpu_ops: Ops, kernel_device: torch.device) -> None:
    x, layer = numbers(6, 7, 64, device=kernel_device)[:, 0], linear_layer(64, 32, kernel_device)
    assert_near(gpu_ops.linear(x, layer.weight, layer.bias), reference.linear(x, layer.weight, layer.bias))


@torch.inference_mode()
@pytest.mark.parametrize("inputs", [64, 1056])
@pytest.mark.parametrize("normed", [False, True])
def test_some_rows_of_each_draft(gpu_ops: Ops, kernel_device: torch.device, inputs: int, normed: bool) -> None:
    x, layer = numbers(4 * 9, inputs, device=kernel_device), linear_layer(inputs, 48, kernel_device)
    residual, norm = numbers(36, 48, device=kernel_device, seed=9), layer_norm(inputs, kernel_device)
    chance = torch.Generator().manual_seed(2)
    places = torch.stack([9 * draft + torch.randperm(9, generator=chance) for draft in range(4)]).int()
    given: dict[str, Any] = {
        "norm": norm if normed else None,
        "residual_NM": residual,
        "places_RP": places.to(kernel_device)[:, :5],
    }
    got, wanted = (ops.linear(x, layer.weight, layer.bias, **given) for ops in (gpu_ops, reference))
    assert got.shape == (20, 48)
    assert_near(got, wanted)


@torch.inference_mode()
@pytest.mark.parametrize(("inputs", "outputs"), [(544, 48), (1056, 32)])
def test_more_inputs_than_are_loaded_at_once(
    gpu_ops: Ops, kernel_device: torch.device, inputs: int, outputs: int
) -> None:
    x, layer = numbers(20, inputs, device=kernel_device), linear_layer(inputs, outputs, kernel_device)
    residual = numbers(20, outputs, device=kernel_device, seed=9)
    got, wanted = (ops.linear(x, layer.weight, layer.bias, residual_NM=residual) for ops in (gpu_ops, reference))
    assert_near(got, wanted)


@torch.inference_mode()
@pytest.mark.parametrize(
    ("inputs", "outputs", "normed"), [(128, 384, True), (512, 96, True), (512, 2048, True), (1024, 64, False)]
)
def test_a_row_does_not_depend_on_the_batch(
    gpu_ops: Ops, kernel_device: torch.device, inputs: int, outputs: int, normed: bool
) -> None:
    x, layer = numbers(80, inputs, device=kernel_device), linear_layer(inputs, outputs, kernel_device)
    norm = layer_norm(inputs, kernel_device) if normed else None
    together = gpu_ops.linear(x, layer.weight, layer.bias, norm=norm, activation="gelu")
    for rows in (slice(3, 4), slice(3, 43)):
        alone = gpu_ops.linear(x[rows], layer.weight, layer.bias, norm=norm, activation="gelu")
        assert_same(alone, together[rows])


@torch.inference_mode()
@pytest.mark.parametrize("normed", [False, True])
def test_many_rows(gpu_ops: Ops, kernel_device: torch.device, normed: bool) -> None:
    from maskpredict.kernels.linear import linear
    from maskpredict.kernels.linear_blocks import MANY_ROWS, choose_blocks

    assert choose_blocks(160, 512, 2048, whole=True) == MANY_ROWS
    x, layer = numbers(150, 128, device=kernel_device), linear_layer(128, 100, kernel_device)
    norm, residual = layer_norm(128, kernel_device), numbers(150, 100, device=kernel_device, seed=9)
    given: dict[str, Any] = {"norm": norm if normed else None, "activation": "gelu", "residual_NM": residual}
    wanted = reference.linear(x, layer.weight, layer.bias, **given)
    assert_near(linear(x, layer.weight, layer.bias, **given, blocks=MANY_ROWS), wanted)


@torch.inference_mode()
@pytest.mark.parametrize("inputs", [512, 1024])
def test_a_row_does_not_depend_on_the_block_sizes(gpu_ops: Ops, kernel_device: torch.device, inputs: int) -> None:
    from maskpredict.kernels.linear import linear
    from maskpredict.kernels.linear_blocks import Blocks

    x, layer = numbers(40, inputs, device=kernel_device), linear_layer(inputs, 64, kernel_device)
    norm = layer_norm(inputs, kernel_device) if inputs == 512 else None
    chosen = gpu_ops.linear(x, layer.weight, layer.bias, norm=norm)
    for blocks in (Blocks(16, 16), Blocks(16, 64), Blocks(32, 32)):
        assert_same(linear(x, layer.weight, layer.bias, norm=norm, blocks=blocks), chosen)


@torch.inference_mode()
def test_a_layer_norm_of_rows_far_from_zero(gpu_ops: Ops, kernel_device: torch.device) -> None:
    x, norm = 30 + numbers(20, 128, device=kernel_device), layer_norm(128, kernel_device)
    layer = linear_layer(128, 48, kernel_device)
    got, wanted = (ops.linear(x, layer.weight, layer.bias, norm=norm) for ops in (gpu_ops, reference))
    assert_near(got, wanted)


@torch.inference_mode()
@pytest.mark.parametrize(("sentences", "beams"), [(8, 1), (3, 5), (16, 5)])
@pytest.mark.parametrize("width", [32, 96])
def test_keys_and_values_are_written_to_the_cache(
    gpu_ops: Ops, kernel_device: torch.device, sentences: int, beams: int, width: int
) -> None:
    x, norm = numbers(sentences * beams, width, device=kernel_device), layer_norm(width, kernel_device)
    layer = linear_layer(width, 3 * width, kernel_device)
    made = []
    for ops in (gpu_ops, reference):
        keys, values = torch.zeros(2, sentences, 4, beams, 2, width // 2, dtype=HALF, device=kernel_device)
        queries = ops.linear_into(x, layer, norm, keys[:, 2], values[:, 2])
        made.append((queries, keys, values))
    for got, wanted in zip(*made, strict=True):
        assert_near(got, wanted)


@torch.inference_mode()
@pytest.mark.parametrize("first", [0, 1, 3])
@pytest.mark.parametrize("slot", [False, True])
@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
def test_embeddings(gpu_ops: Ops, kernel_device: torch.device, first: int, slot: bool, kind: torch.dtype) -> None:
    tokens, positions = numbers(11, 96, device=kernel_device), numbers(16, 96, device=kernel_device, seed=2)
    ids = (torch.arange(2 * 13, device=kernel_device, dtype=kind) % 11).view(2, 13)[:, :9]
    vector = numbers(96, device=kernel_device, seed=3) if slot else None
    got, wanted = (ops.embed(ids, tokens, positions, 22.6, first, vector) for ops in (gpu_ops, reference))
    assert torch.equal(got, wanted)


@torch.inference_mode()
@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
def test_words_that_an_alignment_shows(gpu_ops: Ops, kernel_device: torch.device, kind: torch.dtype) -> None:
    tokens, states = numbers(11, 96, device=kernel_device), numbers(2, 9, 96, device=kernel_device, seed=2)
    ids = (torch.arange(2 * 13, device=kernel_device, dtype=kind) % 11).view(2, 13)[:, :9]
    got, wanted = (ops.add_words(states, ids, tokens, 9.8, 4) for ops in (gpu_ops, reference))
    assert torch.equal(got, wanted)
    assert torch.equal(got[ids == 4], states[ids == 4])


@torch.inference_mode()
@pytest.mark.parametrize(("sentences", "drafts", "queries", "keys"), [(1, 1, 48, 48), (2, 3, 5, 33), (3, 1, 17, 8)])
def test_attention_to_the_first_keys(
    gpu_ops: Ops, kernel_device: torch.device, sentences: int, drafts: int, queries: int, keys: int
) -> None:
    q = numbers(sentences * drafts, queries, 3, 2, 16, device=kernel_device)[:, :, 1]
    kv = numbers(sentences, keys + 1, 2, 2, 16, device=kernel_device, seed=2)[:, 1:]
    for lengths in (torch.arange(sentences) + 2, torch.full((sentences,), keys)):
        for kind in (torch.int32, torch.int64):
            given = (q, kv[:, :, 0], kv[:, :, 1], lengths.to(kernel_device, kind))
            assert_near(gpu_ops.attend(*given), reference.attend(*given))


@torch.inference_mode()
@pytest.mark.parametrize(("sentences", "drafts", "queries"), [(1, 1, 5), (1, 5, 32), (2, 3, 17), (40, 2, 17)])
@pytest.mark.parametrize(("width", "heads"), [(96, 3), (128, 2)])
def test_attention_to_the_source(
    gpu_ops: Ops, kernel_device: torch.device, sentences: int, drafts: int, queries: int, width: int, heads: int
) -> None:
    rows = sentences * drafts
    x, norm = numbers(rows * queries, width, device=kernel_device), layer_norm(width, kernel_device)
    layer = linear_layer(width, width, kernel_device)
    kv = numbers(sentences, 41, 2, heads, width // heads, device=kernel_device, seed=2)[:, 1:]
    lengths = (3 + torch.arange(sentences) % 38).to(kernel_device)
    given = (x, norm, layer, kv[:, :, 0], kv[:, :, 1], lengths, rows)
    assert_near(gpu_ops.cross_attend(*given), reference.cross_attend(*given))


@torch.inference_mode()
def test_attention_to_the_keys_that_are_seen(gpu_ops: Ops, kernel_device: torch.device) -> None:
    q, k, v = (numbers(3, n, 2, 16, device=kernel_device, seed=n) for n in (5, 40, 40))
    seen = torch.rand(3, 5, 40, generator=torch.Generator().manual_seed(1)).to(kernel_device) < 0.3
    seen[:, :, 0] = True
    assert_near(gpu_ops.attend_seen(q, k, v, seen), reference.attend_seen(q, k, v, seen))


@torch.inference_mode()
@pytest.mark.parametrize("outputs", [37, 300])
def test_scores_are_not_rounded(gpu_ops: Ops, kernel_device: torch.device, outputs: int) -> None:
    x, norm = numbers(20, 96, device=kernel_device), layer_norm(96, kernel_device)
    layer = linear_layer(96, outputs, kernel_device)
    got, wanted = (ops.scores(x, norm, layer.weight, layer.bias) for ops in (gpu_ops, reference))
    assert got.dtype == wanted.dtype == torch.float32
    # A norm may be rounded the other way, but there are few such; rounded sums would be 2e-4 off on average.
    assert float((got - wanted).abs().median()) < 1e-5
    assert_near(got, wanted)


@torch.inference_mode()
@pytest.mark.parametrize("rows", [1, 16, 32, 40, 70, 150])
@pytest.mark.parametrize("vocabulary", [20, 128, 300])
def test_the_best_of_each_block(gpu_ops: Ops, kernel_device: torch.device, rows: int, vocabulary: int) -> None:
    x, norm = numbers(rows, 96, device=kernel_device), layer_norm(96, kernel_device)
    weight = numbers(vocabulary, 96, device=kernel_device, seed=4) / 4
    penalty = torch.zeros(vocabulary, device=kernel_device)
    penalty[[0, 7]] = -torch.inf
    penalty[128:256] = -torch.inf  # a block without any possible token
    got, wanted = (ops.block_bests(x, norm, weight, penalty) for ops in (gpu_ops, reference))
    assert_near(got.highest_GN, wanted.highest_GN)
    assert_near(got.total_GN, wanted.total_GN)
    assert torch.equal(got.token_GN[got.highest_GN > -torch.inf], wanted.token_GN[wanted.highest_GN > -torch.inf])
    best = best_tokens(unrounded_product(norm(x), weight) + penalty, 1)
    tokens = got.token_GN.gather(0, got.highest_GN.argmax(0, keepdim=True))[0]
    assert torch.equal(tokens.long(), best.tokens_RC[:, 0])


@torch.inference_mode()
@pytest.mark.parametrize(("count", "rows"), [(32, slice(7, 8)), (32, slice(7, 30)), (140, slice(7, 40))])
def test_the_best_of_each_block_does_not_depend_on_the_batch(
    gpu_ops: Ops, kernel_device: torch.device, count: int, rows: slice
) -> None:
    x, norm = numbers(count, 96, device=kernel_device), layer_norm(96, kernel_device)
    weight, penalty = numbers(300, 96, device=kernel_device, seed=4) / 4, torch.zeros(300, device=kernel_device)
    together = gpu_ops.block_bests(x, norm, weight, penalty)
    alone = gpu_ops.block_bests(x[rows], norm, weight, penalty)
    assert_same(alone.highest_GN, together.highest_GN[:, rows])
    assert_same(alone.total_GN, together.total_GN[:, rows])
    assert torch.equal(alone.token_GN, together.token_GN[:, rows])
