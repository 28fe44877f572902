"""Sentences laid end to end, as on a GPU, have the loss and gradients of padded rows: for every system."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from maskpredict.model.batch import Batch, Tokens, pad
from maskpredict.systems import refinement
from maskpredict.systems.base import System

CPU = torch.device("cpu")
SOURCES = [[5, 6, 7, 2], [8, 9, 10, 11, 12, 2], [13, 2]]
TARGETS = [[6, 7, 2], [8, 9, 9, 11, 5, 19, 18, 2], [2]]
ONE_TOKEN = [[2], [2], [2]]
"""Leaves a CMLM no choice of masks, so that the two can be compared."""


@pytest.mark.parametrize(
    ("name", "targets"),
    [
        ("cmlm", ONE_TOKEN),
        ("autoregressive", TARGETS),
        ("fertility", TARGETS),
        ("ctc", TARGETS),
        ("refinement", TARGETS),
        ("insertion", ONE_TOKEN),
    ],
)
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_packed_batch_has_the_loss_and_gradients_of_a_padded_one(
    make_system: Callable[..., System],
    pack: Callable[..., Tokens],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    targets: list[list[int]],
    norm: str,
) -> None:
    monkeypatch.setattr(refinement, "PREDICTED_SHARE", 1.0)  # corruption would be drawn differently
    monkeypatch.setattr(refinement, "REFINEMENTS", 1)  # to save time
    system = make_system(name, norm=norm)
    slot = system.reserves_slot
    results = []
    for batch in (
        Batch(pad(SOURCES, 0, CPU, slot=slot), pad(targets, 0, CPU)),
        Batch(pack(SOURCES, [3, 0], slot=slot), pack(targets, [5, 0])),
    ):
        system.zero_grad()
        loss = system.loss(batch)
        loss.total.backward()
        results.append((loss, {name: p.grad for name, p in system.named_parameters() if p.grad is not None}))
    (padded_loss, padded), (packed_loss, packed) = results
    torch.testing.assert_close(padded_loss.total, packed_loss.total, rtol=1e-5, atol=1e-4)
    assert int(padded_loss.count) == int(packed_loss.count)
    assert padded.keys() == packed.keys()
    for parameter, gradient in padded.items():
        torch.testing.assert_close(gradient, packed[parameter], rtol=1e-3, atol=1e-4, msg=parameter)


@pytest.mark.parametrize("name", ["fertility", "ctc", "refinement", "insertion"])
def test_the_loss_can_be_compiled_in_one_piece(
    make_system: Callable[..., System], pack: Callable[..., Tokens], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(refinement, "REFINEMENTS", 1)  # to save time
    system = make_system(name)
    batch = Batch(pack(SOURCES, [3, 0], slot=system.reserves_slot), pack(TARGETS, [5, 0]))
    compiled = torch.compile(lambda: system.loss(batch).total, fullgraph=True, backend="aot_eager")
    torch.manual_seed(1)
    expected = system.loss(batch).total
    torch.manual_seed(1)
    torch.testing.assert_close(compiled(), expected)
