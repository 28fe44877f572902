"""Tensors are made on the device of the batch, as a GPU needs: any other would be on `meta`, which has no values."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from maskpredict.model.batch import Batch, Tokens, pad
from maskpredict.systems.base import System
from maskpredict.systems.ctc_lattice import best_reference, sum_reference
from tests.lattices import RandomLattice

CPU = torch.device("cpu")
SOURCES = [[5, 6, 7, 2], [8, 9, 10, 11, 12, 2], [13, 2]]
TARGETS = [[6, 7, 2], [8, 9, 9, 11, 5, 19, 18, 2], [2]]


@pytest.mark.parametrize("name", ["cmlm", "autoregressive", "fertility", "ctc", "alignment", "refinement", "insertion"])
@pytest.mark.parametrize("packed", [True, False])
def test_the_loss_is_computed_on_the_device_of_the_batch(
    make_system: Callable[..., System], pack: Callable[..., Tokens], name: str, packed: bool
) -> None:
    system = make_system(name)
    slot = system.reserves_slot
    batch = Batch(pad(SOURCES, 0, CPU, slot=slot), pad(TARGETS, 0, CPU))
    if packed:
        batch = Batch(pack(SOURCES, [3, 0], slot=slot), pack(TARGETS, [5, 0]))
    torch.manual_seed(1)
    expected = system.loss(batch)
    torch.manual_seed(1)
    with torch.device("meta"):
        actual = system.loss(batch)
        actual.total.backward()
    torch.testing.assert_close((actual.total, actual.count), (expected.total, expected.count))


@pytest.mark.parametrize(
    "name",
    ["cmlm", "fertility", "ctc", "alignment", "refinement", "insertion", "fairseq_cmlm", "fairseq_cmlm_relative"],
)
def test_sources_are_encoded_on_the_device_of_the_batch(make_system: Callable[..., System], name: str) -> None:
    system = make_system(name)
    source = pad(SOURCES, 0, CPU, slot=system.reserves_slot)
    with torch.device("meta"):
        encoded = system.encode(source)
    assert encoded.memory[0].keys.device == CPU


def test_the_ctc_lattice_is_computed_on_the_device_of_its_scores() -> None:
    lattice = RandomLattice.of(10, 6, 3)
    expected = (*sum_reference(lattice.inputs, lattice.rows_N, lattice.positions_N), best_reference(lattice.inputs))
    with torch.device("meta"):
        actual = (*sum_reference(lattice.inputs, lattice.rows_N, lattice.positions_N), best_reference(lattice.inputs))
    torch.testing.assert_close(actual, expected)
