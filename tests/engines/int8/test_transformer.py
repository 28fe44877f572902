"""The transformer for eight bits against the plain one, and against itself in other batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from maskpredict.engines.int8.engine import fill_in_int8
from maskpredict.engines.int8.transformer import Int8HiddenStates, Int8Transformer
from maskpredict.model.layout import Padded
from maskpredict.model.meta_init import meta_init
from maskpredict.model.module_weights import weights_of
from maskpredict.model.transformer import Transformer

SOURCES, TARGETS = [9, 1, 30, 17, 8], [5, 2, 31, 8, 20]
SHAPES: list[dict[str, Any]] = [
    {"norm": "pre"},
    {"norm": "post", "activation": "relu"},
    {"norm": "pre", "embeddings": "target", "scale_embeddings": True},
    {"norm": "post", "embeddings": "separate"},
]


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def in_int8(plain: Transformer) -> Int8Transformer:
    with meta_init():
        empty = Transformer(plain.config, 13, 13)
    fill_in_int8(empty, weights_of(plain))
    return Int8Transformer(empty.eval())


def tokens(lengths: list[int], width: int, seed: int) -> tuple[Tensor, Padded]:
    """Random ids, and other ones for padding than the other call with another width would have."""
    chance = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, 13, (len(lengths), 32), generator=chance)[:, :width]
    return ids, Padded.of(torch.tensor(lengths), width)


def error(got: Tensor, wanted: Tensor) -> float:
    return float((got - wanted).norm() / wanted.norm())


@torch.inference_mode()
@pytest.mark.parametrize("shape", SHAPES)
def test_it_computes_what_the_plain_transformer_does(
    make_transformer: Callable[..., Transformer], shape: dict[str, Any]
) -> None:
    plain = make_transformer(width=64, hidden=128, heads=4, **shape)
    int8 = in_int8(plain)
    source_ids, source = tokens(SOURCES, 32, seed=1)
    target_ids, target = tokens(TARGETS, 32, seed=2)
    slot = torch.randn(64)
    encoded = [one.encode(source_ids, source, slot=slot) for one in (plain, int8)]
    assert error(encoded[1][source.valid], encoded[0][source.valid]) < 0.05
    wanted = plain.decode(target_ids, target, plain.memory(encoded[0]), source, causal=False)[target.valid]
    passes = Int8HiddenStates(int8, int8.memory(encoded[1]), source, range(5), target)
    assert error(passes(target_ids, target.valid), wanted) < 0.1
    at_once = int8.decode(target_ids, target, int8.memory(encoded[1]), source, causal=False)
    assert error(at_once[target.valid], wanted) < 0.1
    assert at_once[~target.valid].count_nonzero() == 0
    causal = [
        one.decode(target_ids, target, one.memory(own), source, causal=True)[target.valid]
        for one, own in zip((plain, int8), encoded, strict=True)
    ]
    assert error(causal[1], causal[0]) < 0.1


@torch.inference_mode()
@pytest.mark.parametrize("thread_count", [1, 2, 3])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_sentence_does_not_depend_on_the_batch(
    make_transformer: Callable[..., Transformer], threads: Callable[[int], None], norm: str, thread_count: int
) -> None:
    int8 = in_int8(make_transformer(width=64, hidden=128, heads=4, norm=norm))
    source_ids, source = tokens(SOURCES, 32, seed=1)
    target_ids, target = tokens(TARGETS, 32, seed=2)
    encoded = int8.encode(source_ids, source)
    together = Int8HiddenStates(int8, int8.memory(encoded), source, range(5), target)(target_ids, target.valid)
    threads(thread_count)
    for row, expected in enumerate(together.split(TARGETS)):
        width = -(-max(SOURCES[row], TARGETS[row]) // 8) * 8
        own_source = Padded.of(torch.tensor([SOURCES[row]]), width)
        own_target = Padded.of(torch.tensor([TARGETS[row]]), width)
        own = int8.encode(source_ids[row : row + 1, :width], own_source)
        assert torch.equal(own[0, : SOURCES[row]], encoded[row, : SOURCES[row]])
        alone = Int8HiddenStates(int8, int8.memory(own), own_source, [0], own_target)
        assert torch.equal(alone(target_ids[row : row + 1, :width], own_target.valid), expected)
        at_once = int8.decode(target_ids[row : row + 1, :width], own_target, int8.memory(own), own_source, causal=False)
        assert torch.equal(at_once[own_target.valid], expected)


@torch.inference_mode()
def test_only_wanted_positions_are_computed_to_the_end(make_transformer: Callable[..., Transformer]) -> None:
    int8 = in_int8(make_transformer(width=64, hidden=128, heads=4, norm="pre"))
    source_ids, source = tokens(SOURCES, 32, seed=1)
    target_ids, target = tokens(TARGETS, 32, seed=2)
    passes = Int8HiddenStates(int8, int8.memory(int8.encode(source_ids, source)), source, range(5), target)
    everywhere = torch.zeros(*target_ids.shape, 64)
    everywhere[target.valid] = passes(target_ids, target.valid)
    wanted = target.valid & (torch.rand(target.valid.shape, generator=torch.Generator().manual_seed(3)) < 0.4)
    wanted[1] = wanted[3] = False  # these rows have nothing to compute
    torch.testing.assert_close(passes(target_ids, wanted), everywhere[wanted], rtol=0.02, atol=0.05)
    # Rows that were left out can come back.
    assert torch.equal(passes(target_ids, target.valid), everywhere[target.valid])


@torch.inference_mode()
def test_several_drafts_of_one_sentence_share_its_memory(make_transformer: Callable[..., Transformer]) -> None:
    int8 = in_int8(make_transformer(width=64, hidden=128, heads=4, norm="pre"))
    source_ids, source = tokens(SOURCES, 32, seed=1)
    target_ids, target = tokens(TARGETS, 32, seed=2)
    memory = int8.memory(int8.encode(source_ids, source))
    owner = [2, 2, 0, 4, 2]
    shared = Int8HiddenStates(int8, memory, source, owner, target)(target_ids, target.valid)
    for row, expected in enumerate(shared.split(TARGETS)):
        own = Padded.of(target.lengths_B[row : row + 1], 32)
        alone = Int8HiddenStates(int8, memory, source, owner[row : row + 1], own)
        assert torch.equal(alone(target_ids[row : row + 1], own.valid), expected)
