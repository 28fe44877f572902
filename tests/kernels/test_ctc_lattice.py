"""The kernels of the CTC lattice against the same in plain PyTorch."""

from __future__ import annotations

from dataclasses import astuple

import pytest
import torch
from torch import Tensor

from maskpredict.systems.ctc_lattice import LatticeInputs, best_reference, sum_reference
from tests.lattices import RandomLattice

CASES = [(1, 1, 1, 0.0), (12, 8, 4, 0.0), (12, 8, 4, 0.4), (6, 40, 33, 0.0), (6, 40, 33, 0.1), (2, 80, 70, 0.0)]
"""Sentences, positions, words, share of revealed positions."""


def on(device: torch.device, inputs: LatticeInputs) -> tuple[Tensor, ...]:
    return tuple(tensor.to(device) for tensor in astuple(inputs))


@pytest.mark.parametrize(("sentences", "positions", "words", "revealed"), CASES)
def test_the_sum_and_its_gradient(
    kernel_device: torch.device, sentences: int, positions: int, words: int, revealed: float
) -> None:
    from maskpredict.kernels.ctc_lattice import sum_alignments

    lattice = RandomLattice.of(sentences, positions, words, revealed=revealed)
    wanted_B, wanted_NC = sum_reference(lattice.inputs, lattice.rows_N, lattice.positions_N)
    nll_B, gradient_NC = sum_alignments(*on(kernel_device, lattice.inputs))
    torch.testing.assert_close(nll_B.cpu(), wanted_B, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(gradient_NC.cpu(), wanted_NC, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize(("sentences", "positions", "words", "revealed"), CASES)
def test_the_best_alignments_even_among_equals(
    kernel_device: torch.device, sentences: int, positions: int, words: int, revealed: float, equal: bool
) -> None:
    from maskpredict.kernels import ctc_lattice

    inputs = RandomLattice.of(sentences, positions, words, revealed=revealed).inputs
    if equal:
        inputs.scores_NC.clamp_(min=-1.0).ceil_()
    best_BT = ctc_lattice.best_alignments(*on(kernel_device, inputs))
    assert torch.equal(best_BT.cpu(), best_reference(inputs))
