"""The length head."""

from __future__ import annotations

from collections.abc import Callable

import torch

from maskpredict.model.batch import pad
from maskpredict.model.length import LengthHead
from maskpredict.model.transformer import Transformer

CPU = torch.device("cpu")


def test_length_zero_which_is_LENGTH_itself_is_never_predicted() -> None:
    head = LengthHead(10, 4)
    with torch.no_grad():
        head.table.weight[0] = 100.0  # would win by far if it took part
    log_probs_BL = head(torch.ones(3, 4))
    assert (log_probs_BL[:, 0] == -torch.inf).all()
    torch.testing.assert_close(log_probs_BL.exp().sum(1), torch.ones(3))
    assert torch.equal(head.slot, head.table.weight[0])


def test_lengths_are_scored_against_the_rows_of_the_table() -> None:
    head = LengthHead(10, 4)
    torch.nn.init.normal_(head.table.weight)
    encoded_BD = torch.randn(2, 4)
    expected = (encoded_BD @ head.table.weight[1:].T).log_softmax(-1)
    torch.testing.assert_close(head(encoded_BD)[:, 1:], expected)


def test_LENGTH_has_no_position(make_transformer: Callable[..., Transformer]) -> None:
    transformer = make_transformer()
    slot = torch.randn(16)
    source = pad([[5, 6, 2], [7, 2]], 0, CPU, slot=True)
    with_slot = transformer.source(source.ids, source.layout.positions, slot=slot)
    assert torch.equal(with_slot[:, 0], slot.expand(2, -1))
    # The words behind it have the positions they would have without it.
    plain = pad([[5, 6, 2], [7, 2]], 0, CPU)
    without = transformer.source(plain.ids, plain.layout.positions)
    assert torch.equal(with_slot[0, 1:4], without[0, :3])
    assert torch.equal(with_slot[1, 1:3], without[1, :2])
