"""One update of the weights: what is divided by what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from maskpredict.corpus.batches import PackedBatches, PaddedBatches, PairArrays
from maskpredict.corpus.dataset import Dataset
from maskpredict.model.config import ModelConfig
from maskpredict.systems import find_system, vocabulary_of
from maskpredict.systems.base import System
from maskpredict.training.config import OptimizerConfig
from maskpredict.training.distributed import ProcessGroup
from maskpredict.training.engine import EagerEngine, part_seed
from maskpredict.training.loader import MicroBatch, Position, Update, to_batch
from maskpredict.training.optimizer import Optimizer

CPU = torch.device("cpu")
CONFIG = OptimizerConfig(rate=1e-2, warmup=1, clip=0.0)


@pytest.fixture
def make_system(data_folder: Path) -> Callable[[str], System]:
    def make(name: str) -> System:
        torch.manual_seed(1)
        shape = ModelConfig(
            width=16, hidden=32, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0, max_positions=64
        )
        return find_system(name)(shape, vocabulary_of(Dataset(data_folder).tokenizers))

    return make


def arrays_of(data_folder: Path, system: System, pairs: range, kind: type = PaddedBatches) -> PairArrays:
    split = Dataset(data_folder).split("train")
    batches = kind(split, system.special, tokens=1024, max_length=48, slot=system.reserves_slot, seed=1)
    arrays: PairArrays = batches.arrays(np.array(pairs))
    return arrays


def learn(system: System, parts: list[PairArrays], config: OptimizerConfig = CONFIG) -> tuple[Tensor, list[Tensor]]:
    """The sums and the new weights after one update."""
    update = Update(Position(), [MicroBatch(n, arrays) for n, arrays in enumerate(parts)], Position(0, 1), False)
    optimizer = Optimizer(system, config, ProcessGroup())
    sums = optimizer.update(EagerEngine(system, torch.float32, 48), update, number=1, seed=1, rate=config.rate)
    return sums, [parameter.detach().clone() for parameter in system.parameters()]


def test_an_update_in_parts_is_the_update_in_one_piece(make_system: Callable[[str], System], data_folder: Path) -> None:
    results = []
    for cuts in ([range(0, 24)], [range(0, 7), range(7, 24)], [range(0, 24, 2), range(1, 24, 2)]):
        system = make_system("autoregressive")
        results.append(learn(system, [arrays_of(data_folder, system, pairs) for pairs in cuts]))
    for sums, weights in results[1:]:
        torch.testing.assert_close(sums, results[0][0], rtol=1e-5, atol=1e-5)
        for one, other in zip(weights, results[0][1], strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_packed_parts_give_the_update_of_padded_ones(make_system: Callable[[str], System], data_folder: Path) -> None:
    results = []
    for kind in (PaddedBatches, PackedBatches):
        system = make_system("autoregressive")
        results.append(learn(system, [arrays_of(data_folder, system, range(0, 24), kind)]))
    torch.testing.assert_close(results[0][0], results[1][0], rtol=1e-5, atol=1e-5)
    for one, other in zip(results[0][1], results[1][1], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_loss_is_divided_by_the_global_number_of_masked_tokens(
    make_system: Callable[[str], System], data_folder: Path
) -> None:
    system = make_system("cmlm")
    parts = [arrays_of(data_folder, system, range(0, 5)), arrays_of(data_folder, system, range(5, 24))]
    losses = []
    for number, arrays in enumerate(parts):
        torch.manual_seed(part_seed(1, 1, number))
        losses.append(system.loss(to_batch(arrays, CPU, 48)))
    total = torch.stack([loss.total for loss in losses]).sum() / torch.stack([loss.count for loss in losses]).sum()
    expected = torch.autograd.grad(total, list(system.parameters()))

    sums, _ = learn(system, parts)
    for parameter, gradient in zip(system.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-6)
    assert float(sums[0] / sums[1]) == pytest.approx(float(total.detach()), rel=1e-5)


def test_a_large_gradient_is_clipped_to_the_configured_norm(
    make_system: Callable[[str], System], data_folder: Path
) -> None:
    for clip, norm in ((0.01, 0.01), (1e6, None)):
        system = make_system("autoregressive")
        learn(system, [arrays_of(data_folder, system, range(0, 24))], OptimizerConfig(rate=1e-3, warmup=1, clip=clip))
        found = torch.cat([p.grad.flatten() for p in system.parameters() if p.grad is not None]).norm()
        assert float(found) == pytest.approx(norm, rel=1e-3) if norm else float(found) > 0.1


def test_masks_and_dropout_of_a_part_are_a_function_of_its_place_alone() -> None:
    seeds = {part_seed(run, update, part) for run in (1, 2) for update in range(50) for part in range(4)}
    assert len(seeds) == 400
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert part_seed(1, 7, 2) == part_seed(1, 7, 2)
