"""The transformer for few launches against the plain one; its kernels have their own tests in `tests/kernels`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from time import sleep
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from maskpredict.engines.cuda.fused_transformer import FusedTransformer, suits, suppression_penalty
from maskpredict.engines.cuda.selfcheck import fused_if_equal, verified_fused, warn_if_slow
from maskpredict.kernels import reference
from maskpredict.kernels.reference import BlockBests
from maskpredict.model.best_tokens import best_tokens
from maskpredict.model.config import PRESETS, ModelConfig
from maskpredict.model.layout import Padded
from maskpredict.model.transformer import Memory, Transformer

MakeTransformer = Callable[..., Transformer]
SHAPES: list[dict[str, Any]] = [
    {},
    {"activation": "relu"},
    {"embeddings": "target", "scale_embeddings": True},
    {"embeddings": "separate"},
]
SOURCES, TARGETS = Padded.of(torch.tensor([9, 1, 16]), 16), Padded.of(torch.tensor([5, 2, 24, 8, 20, 3]), 24)


@pytest.fixture
def make(make_transformer: MakeTransformer) -> MakeTransformer:
    def pre_norm(**changes: Any) -> Transformer:
        return make_transformer(**{"width": 32, "hidden": 64, "norm": "pre", **changes})

    return pre_norm


def ids_of(layout: Padded, seed: int) -> Tensor:
    return torch.randint(0, 13, layout.valid.shape, generator=torch.Generator().manual_seed(seed))


@torch.inference_mode()
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("slot", [False, True])
def test_it_encodes_like_the_plain_transformer(make: MakeTransformer, shape: dict[str, Any], slot: bool) -> None:
    plain = make(**shape)
    fused = FusedTransformer(plain, reference)
    ids, vector = ids_of(SOURCES, 1), torch.randn(32) if slot else None
    wanted = plain.encode(ids, SOURCES, slot=vector)
    torch.testing.assert_close(fused.encode(ids, SOURCES, slot=vector)[SOURCES.valid], wanted[SOURCES.valid])
    stream = fused.source_stream(ids, SOURCES.lengths_B, slot=vector)
    for own, other in zip(fused.memory_of_stream(stream), plain.memory(wanted), strict=True):
        torch.testing.assert_close(own.keys[SOURCES.valid], other.keys[SOURCES.valid])
        torch.testing.assert_close(own.values[SOURCES.valid], other.values[SOURCES.valid])
    scores = fused.first_scores(stream, torch.ones(1, 32), torch.ones(1))
    torch.testing.assert_close(scores[:, 0], 1 + wanted[:, 0].sum(1))


@torch.inference_mode()
@pytest.mark.parametrize("shape", SHAPES)
def test_several_drafts_of_a_sentence_are_decoded_like_by_the_plain_transformer(
    make: MakeTransformer, shape: dict[str, Any]
) -> None:
    plain = make(**shape)
    fused = FusedTransformer(plain, reference)
    memory, ids = plain.memory(plain.encode(ids_of(SOURCES, 1), SOURCES)), ids_of(TARGETS, 2)
    twice = [Memory(m.keys.repeat_interleave(2, 0), m.values.repeat_interleave(2, 0)) for m in memory]
    wanted = plain.decode(ids, TARGETS, twice, SOURCES.repeat(2), causal=False)
    stream = fused.target_stream(ids, TARGETS.lengths_B, memory, SOURCES.lengths_B)
    torch.testing.assert_close(fused.decoder_norm(stream)[TARGETS.valid], wanted[TARGETS.valid])

    actual = fused.best_of_stream(stream, suppression_penalty((3, 7), 13, torch.device("cpu")))
    logits = plain.output(fused.decoder_norm(stream).flatten(0, 1)).index_fill(1, torch.tensor([3, 7]), -torch.inf)
    best = best_tokens(logits, 1)
    assert torch.equal(actual.token_GN[0].long(), best.tokens_RC[:, 0])
    torch.testing.assert_close(-actual.total_GN[0].log(), best.log_probs_RC[:, 0])


@torch.inference_mode()
def test_it_makes_steps_like_the_plain_transformer(make: MakeTransformer) -> None:
    plain, beams = make(), 3
    fused = FusedTransformer(plain, reference)
    encoded = plain.encode(ids_of(SOURCES, 1), SOURCES)
    caches = [one.new_caches(3, beams, 8) for one in (plain, fused)]
    slots = torch.full((3, beams, 8), -1)
    for time in range(4):
        slots[:, :, time] = torch.arange(beams)
        seen = (slots[..., None] == torch.arange(beams)).flatten(2)
        ids = torch.randint(0, 13, (3, beams), generator=torch.Generator().manual_seed(time))
        got, wanted = (
            one.decode_step(ids, time, layer_caches, seen, one.memory(encoded), SOURCES)
            for one, layer_caches in zip((fused, plain), caches, strict=True)
        )
        torch.testing.assert_close(got, wanted)
        slots[1] = slots[1, [2, 0, 0]]  # some beams continue others


def test_blocks_of_the_vocabulary_give_the_best_of_all() -> None:
    chance = torch.Generator().manual_seed(1)
    x, weight = torch.randn(9, 16, generator=chance), torch.randn(300, 16, generator=chance)
    penalty = suppression_penalty((0, *range(128, 256)), 300, torch.device("cpu"))
    bests = reference.block_bests(x, torch.nn.LayerNorm(16), weight, penalty)
    assert bests.token_GN.shape == (3, 9)
    assert (bests.total_GN[1] == 0).all()
    logits = F.linear(torch.nn.LayerNorm(16)(x), weight) + penalty
    highest, block = bests.highest_GN.max(0)
    assert torch.equal(bests.token_GN.gather(0, block[None])[0].long(), logits.argmax(1))
    total = (bests.total_GN * (bests.highest_GN - highest).exp()).sum(0)
    torch.testing.assert_close(highest + total.log(), logits.logsumexp(1))


@pytest.mark.parametrize(
    ("config", "fits"),
    [
        (replace(PRESETS["base"], norm="pre"), True),
        (replace(PRESETS["large"], norm="pre"), True),
        (PRESETS["tiny"], True),
        (PRESETS["base"], False),
        (ModelConfig(width=16, hidden=32, heads=1, norm="pre"), False),
        (ModelConfig(width=48, hidden=96, heads=1, norm="pre"), False),
    ],
)
def test_only_models_of_certain_shapes_are_fused(config: ModelConfig, fits: bool) -> None:
    assert suits(config) == fits


def test_a_cpu_has_no_fused_kernels(make: MakeTransformer) -> None:
    assert verified_fused(make().half()) is None


def test_kernels_that_compute_what_they_should_are_used(make: MakeTransformer) -> None:
    assert isinstance(fused_if_equal(make(), reference), FusedTransformer)


class WrongOps:
    """Everything is right but one thing."""

    linear, linear_into, embed, attend, attend_seen = (
        staticmethod(function)
        for function in (
            reference.linear,
            reference.linear_into,
            reference.embed,
            reference.attend,
            reference.attend_seen,
        )
    )
    cross_attend = staticmethod(reference.cross_attend)
    block_bests = staticmethod(reference.block_bests)


def test_it_is_said_when_compiling_takes_long(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), warn_if_slow(60.0):
        pass
    assert not caplog.text
    with caplog.at_level(logging.WARNING), warn_if_slow(0.01):
        sleep(0.5)
    assert "Compiling kernels" in caplog.text


class WrongAttention(WrongOps):
    @staticmethod
    def attend(q_RTHK: Tensor, keys_BSHK: Tensor, values_BSHK: Tensor, lengths_B: Tensor) -> Tensor:
        return reference.attend(q_RTHK, keys_BSHK, values_BSHK, lengths_B - 1)


class WrongCrossAttention(WrongOps):
    @staticmethod
    def cross_attend(x_ND: Tensor, *given: Any) -> Tensor:
        return reference.cross_attend(-x_ND, *given)


class WrongPlaces(WrongOps):
    @staticmethod
    def linear(x_NK: Tensor, *given: Any, places_RP: Tensor | None = None, **around: Any) -> Tensor:
        places_RP = None if places_RP is None else places_RP.flip(1)
        return reference.linear(x_NK, *given, places_RP=places_RP, **around)


class WrongBests(WrongOps):
    @staticmethod
    def block_bests(x_NK: Tensor, norm: torch.nn.LayerNorm, weight_VK: Tensor, penalty_V: Tensor) -> BlockBests:
        return reference.block_bests(x_NK * torch.nan, norm, weight_VK, penalty_V)


@pytest.mark.parametrize("ops", [WrongAttention(), WrongCrossAttention(), WrongPlaces(), WrongBests()])
def test_kernels_that_compute_something_else_are_not_used(
    make: MakeTransformer, ops: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert fused_if_equal(make(), ops) is None
    assert "without fused kernels" in caplog.text
