"""The weights after two updates are those of AdamW, computed here by hand in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from maskpredict.corpus.batches import PaddedBatches, PairArrays
from maskpredict.corpus.dataset import Dataset
from maskpredict.model.config import ModelConfig
from maskpredict.systems import find_system, vocabulary_of
from maskpredict.systems.base import System
from maskpredict.training.config import OptimizerConfig
from maskpredict.training.distributed import ProcessGroup
from maskpredict.training.engine import EagerEngine
from maskpredict.training.loader import MicroBatch, Position, Update, to_batch
from maskpredict.training.optimizer import SCALER, Optimizer

CPU = torch.device("cpu")
UNUSUAL = OptimizerConfig(beta1=0.7, beta2=0.95, epsilon=1e-3, weight_decay=0.3, clip=0.05)
"""Values far from the defaults, so that each of them shows."""
Weights = list[Tensor]


@pytest.fixture
def make_system(data_folder: Path) -> Callable[[], System]:
    """A model that computes in float64 without dropout, always with the same weights."""

    def make() -> System:
        torch.manual_seed(1)
        shape = ModelConfig(
            width=16, hidden=32, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0, max_positions=64
        )
        return find_system("autoregressive")(shape, vocabulary_of(Dataset(data_folder).tokenizers)).double()

    return make


@pytest.fixture
def updates(data_folder: Path, make_system: Callable[[], System]) -> list[Update]:
    """Three updates of two parts each."""
    system, split = make_system(), Dataset(data_folder).split("train")
    batches = PaddedBatches(split, system.special, tokens=256, max_length=48, slot=system.reserves_slot, seed=1)
    arrays = [batches.arrays(pairs) for pairs in batches.plan(0)[:6]]
    return [
        Update(
            Position(0, n), [MicroBatch(0, arrays[2 * n]), MicroBatch(1, arrays[2 * n + 1])], Position(0, n + 1), False
        )
        for n in range(3)
    ]


def learn(optimizer: Optimizer, system: System, update: Update, number: int, rate: float) -> None:
    engine = EagerEngine(system, torch.float32, 48, optimizer.scaler)
    optimizer.update(engine, update, number=number, seed=1, rate=rate)


def weights_of(system: System) -> Weights:
    return [parameter.detach().clone() for parameter in system.parameters()]


def gradient_by_hand(system: System, parts: list[PairArrays], clip: float) -> Weights:
    """The gradient of the mean loss of all tokens of an update, scaled down to the norm `clip` where it is larger."""
    losses = [system.loss(to_batch(arrays, CPU, 48)) for arrays in parts]
    total = torch.stack([loss.total for loss in losses]).sum() / torch.stack([loss.count for loss in losses]).sum()
    gradients = torch.autograd.grad(total, list(system.parameters()))
    norm = math.sqrt(sum(float(gradient.square().sum()) for gradient in gradients))
    return [gradient * min(1.0, clip / norm) if clip else gradient for gradient in gradients]


def adam_by_hand(
    system: System, updates: list[Update], rates: list[float], *, betas: tuple[float, float], epsilon: float,
    weight_decay: float, clip: float,
) -> Weights:  # fmt: skip
    """The weights after updates at these rates; `system` ends with them."""
    means = [torch.zeros_like(weight) for weight in system.parameters()]
    squares = [torch.zeros_like(weight) for weight in system.parameters()]
    for t, (update, rate) in enumerate(zip(updates, rates, strict=True), start=1):
        gradients = gradient_by_hand(system, [part.arrays for part in update.parts], clip)
        with torch.no_grad():
            for weight, gradient, mean, square in zip(system.parameters(), gradients, means, squares, strict=True):
                mean.mul_(betas[0]).add_((1 - betas[0]) * gradient)
                square.mul_(betas[1]).add_((1 - betas[1]) * gradient**2)
                unbiased_mean, unbiased_square = mean / (1 - betas[0] ** t), square / (1 - betas[1] ** t)
                weight.sub_(rate * weight_decay * weight)
                weight.sub_(rate * unbiased_mean / (unbiased_square.sqrt() + epsilon))
    return weights_of(system)


def assert_equal(one: Weights, other: Weights) -> None:
    for left, right in zip(one, other, strict=True):
        # PyTorch adds 1e-6 to the norm by which it clips.
        torch.testing.assert_close(left, right, rtol=1e-6, atol=1e-8)


def test_two_updates_with_unusual_values_are_adams(make_system: Callable[[], System], updates: list[Update]) -> None:
    system = make_system()
    optimizer = Optimizer(system, UNUSUAL, ProcessGroup())
    rates = [1e-2, 4e-3]
    for number, (update, rate) in enumerate(zip(updates, rates, strict=False), start=1):
        learn(optimizer, system, update, number, rate)
    expected = adam_by_hand(
        make_system(), updates[:2], rates, betas=(0.7, 0.95), epsilon=1e-3, weight_decay=0.3, clip=0.05
    )
    assert_equal(weights_of(system), expected)


def test_the_defaults_are_the_papers_adam(make_system: Callable[[], System], updates: list[Update]) -> None:
    system = make_system()
    with torch.no_grad():
        for parameter in system.parameters():
            parameter.mul_(3)  # so that the gradient is long enough to be clipped
    by_hand = make_system()
    by_hand.load_state_dict(system.state_dict())
    unclipped = gradient_by_hand(by_hand, [part.arrays for part in updates[0].parts], clip=0.0)
    assert sum(float(gradient.square().sum()) for gradient in unclipped) > 1.0
    optimizer = Optimizer(system, OptimizerConfig(), ProcessGroup())
    for number in (1, 2):
        learn(optimizer, system, updates[number - 1], number, rate=5e-4)
    expected = adam_by_hand(
        by_hand, updates[:2], [5e-4, 5e-4], betas=(0.9, 0.999), epsilon=1e-6, weight_decay=0.01, clip=1.0
    )
    assert_equal(weights_of(system), expected)


def test_a_gradient_is_not_clipped_with_clip_0_nor_below_the_norm(
    make_system: Callable[[], System], updates: list[Update]
) -> None:
    for clip in (0.0, 1e6):
        system = make_system()
        learn(Optimizer(system, replace(UNUSUAL, clip=clip), ProcessGroup()), system, updates[0], 1, rate=1e-2)
        expected = adam_by_hand(
            make_system(), updates[:1], [1e-2], betas=(0.7, 0.95), epsilon=1e-3, weight_decay=0.3, clip=0.0
        )
        assert_equal(weights_of(system), expected)


def test_a_loss_scale_changes_nothing_but_an_update_that_overflows(
    make_system: Callable[[], System], updates: list[Update]
) -> None:
    plain, scaled = make_system(), make_system()
    optimizers = [
        Optimizer(plain, UNUSUAL, ProcessGroup()),
        Optimizer(scaled, UNUSUAL, ProcessGroup(), torch.amp.GradScaler("cpu", init_scale=1024.0)),
    ]
    for number in (1, 2):
        for system, optimizer in zip((plain, scaled), optimizers, strict=True):
            learn(optimizer, system, updates[number - 1], number, rate=1e-2)
    assert_equal(weights_of(scaled), weights_of(plain))

    scaler = optimizers[1].scaler
    assert scaler is not None
    scaler.load_state_dict({**scaler.state_dict(), "scale": 1e38})
    with torch.no_grad():
        next(scaled.parameters()).mul_(1e200)
    before = weights_of(scaled)
    learn(optimizers[1], scaled, updates[2], 3, rate=1e-2)
    assert_equal(weights_of(scaled), before)
    assert scaler.get_scale() == pytest.approx(5e37)


def names_of(system: System) -> list[str]:
    return [name for name, _ in system.named_parameters()]


@pytest.mark.parametrize("scale", [None, 512.0])
def test_an_optimizer_that_takes_up_anothers_memory_goes_on_exactly(
    make_system: Callable[[], System], updates: list[Update], scale: float | None
) -> None:
    def new_optimizer(system: System) -> Optimizer:
        scaler = torch.amp.GradScaler("cpu", init_scale=scale) if scale else None
        return Optimizer(system, UNUSUAL, ProcessGroup(), scaler)

    whole, continued = make_system(), make_system()
    optimizer, successor = new_optimizer(whole), new_optimizer(continued)
    for number in (1, 2):
        learn(optimizer, whole, updates[number - 1], number, rate=1e-2)
    saved = {name: tensor.clone() for name, tensor in optimizer.state(names_of(whole)).items()}
    continued.load_state_dict(whole.state_dict())
    successor.restore(names_of(continued), saved)
    taken_up = successor.state(names_of(continued))
    assert taken_up.keys() == saved.keys()
    assert all(torch.equal(taken_up[name], saved[name]) for name in saved)
    if scale:
        assert saved[SCALER].tolist() == [512.0, 2.0]
    for one, system in ((optimizer, whole), (successor, continued)):
        learn(one, system, updates[2], 3, rate=1e-2)
    assert all(torch.equal(a, b) for a, b in zip(weights_of(whole), weights_of(continued), strict=True))


def test_nothing_is_remembered_before_the_first_update(make_system: Callable[[], System]) -> None:
    system = make_system()
    assert Optimizer(system, UNUSUAL, ProcessGroup()).state(names_of(system)) == {}


def test_memory_of_half_precision_is_taken_up_in_the_weights_precision(
    make_system: Callable[[], System], updates: list[Update]
) -> None:
    system = make_system()
    optimizer = Optimizer(system, UNUSUAL, ProcessGroup())
    learn(optimizer, system, updates[0], 1, rate=1e-2)
    halves = {
        name: tensor.clone() if name.startswith("step.") else tensor.half()
        for name, tensor in optimizer.state(names_of(system)).items()
    }
    successor = Optimizer(system, UNUSUAL, ProcessGroup())
    successor.restore(names_of(system), halves)
    for name, tensor in successor.state(names_of(system)).items():
        assert tensor.dtype == (torch.float32 if name.startswith("step.") else torch.float64)


def test_a_weight_whose_memory_is_missing_starts_anew_and_the_others_go_on(
    make_system: Callable[[], System], updates: list[Update]
) -> None:
    system = make_system()
    optimizer = Optimizer(system, UNUSUAL, ProcessGroup())
    learn(optimizer, system, updates[0], 1, rate=1e-2)
    first, *others = names_of(system)
    saved = {name: tensor for name, tensor in optimizer.state([first, *others]).items() if not name.endswith(first)}
    successor = Optimizer(system, UNUSUAL, ProcessGroup())
    successor.restore([first, *others], saved)
    expected = {f"{kind}.{name}" for name in others for kind in ("exp_avg", "exp_avg_sq", "step")}
    assert successor.state([first, *others]).keys() == expected


def test_a_run_may_go_on_in_another_precision(make_system: Callable[[], System], updates: list[Update]) -> None:
    system = make_system()
    for before, after in ((None, 256.0), (256.0, None)):
        scalers = [torch.amp.GradScaler("cpu", init_scale=scale) if scale else None for scale in (before, after)]
        optimizer, successor = (Optimizer(system, UNUSUAL, ProcessGroup(), scaler) for scaler in scalers)
        learn(optimizer, system, updates[0], 1, rate=1e-2)
        saved = optimizer.state(names_of(system))
        successor.restore(names_of(system), saved)
        kept = successor.state(names_of(system))
        assert kept.keys() - {SCALER} == saved.keys() - {SCALER}
        assert (SCALER in kept) == (after is not None)
