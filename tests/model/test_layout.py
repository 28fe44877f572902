"""Where the sentences of a batch begin and end."""

from __future__ import annotations

import torch

from maskpredict.model.batch import pad, pad_rows
from maskpredict.model.layout import Packed, Padded
from maskpredict.model.padding import round_up

CPU = torch.device("cpu")


def test_padding_fills_rows_on_the_right_to_a_multiple_of_eight() -> None:
    tokens = pad([[5, 2], [6, 7, 8, 9, 6, 7, 8, 9, 2]], 0, CPU)
    assert tokens.ids.shape == (2, 16)
    assert tokens.ids[0].tolist() == [5, 2] + [0] * 14
    assert tokens.layout.lengths_B.tolist() == [2, 9]
    assert tokens.layout.valid.sum(1).tolist() == [2, 9]


def test_a_slot_is_a_position_in_front_of_every_row() -> None:
    tokens = pad([[5, 2], [6, 7, 2]], 0, CPU, slot=True)
    assert tokens.ids[:, :4].tolist() == [[0, 5, 2, 0], [0, 6, 7, 2]]
    assert tokens.layout.lengths_B.tolist() == [3, 4]
    assert tokens.layout.valid[:, :4].tolist() == [[True, True, True, False], [True] * 4]


def test_rows_of_zeros_are_added_up_to_a_multiple_of_eight() -> None:
    assert [round_up(n) for n in (0, 1, 8, 9)] == [0, 8, 8, 16]
    x = torch.randn(3, 2)
    assert torch.equal(pad_rows(x)[:3], x)
    assert not pad_rows(x)[3:].any()
    assert pad_rows(torch.ones(8, 2)).shape == (8, 2)


def test_packed_rows_know_each_tokens_row_and_place() -> None:
    layout = Packed.of(torch.tensor([0, 2, 5, 9, 9], dtype=torch.int32), torch.tensor(2), 9, max_length=4)
    assert layout.rows.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2]
    assert layout.positions.tolist() == [0, 1, 0, 1, 2, 0, 1, 2, 3]
    assert layout.valid.tolist() == [True] * 5 + [False] * 4
    assert layout.valid_rows.tolist() == [True, True, False, False]
    assert layout.lengths_B.tolist() == [2, 3, 4, 0]


def test_first_positions_can_be_read_and_taken_away_in_both_layouts() -> None:
    rows = [[1, 2, 3], [4, 5]]
    padded_layout = Padded.of(torch.tensor([3, 2]), 4)
    padded_x = torch.tensor([[1, 2, 3, 0], [4, 5, 0, 0]])[..., None]
    packed_layout = Packed.of(torch.tensor([0, 3, 5], dtype=torch.int32), torch.tensor(2), 5, max_length=3)
    packed_x = torch.tensor([token for row in rows for token in row])[:, None]
    assert padded_layout.firsts(padded_x)[:, 0].tolist() == packed_layout.firsts(packed_x)[:, 0].tolist() == [1, 4]

    padded_rest, layout = padded_layout.without_firsts(padded_x)
    assert padded_rest[layout.valid][:, 0].tolist() == [2, 3, 5]
    assert layout.lengths_B.tolist() == [2, 1]
    packed_rest, packed_after = packed_layout.without_firsts(packed_x)
    assert packed_rest[:, 0].tolist() == [2, 3, 5]
    assert packed_after.lengths_B.tolist() == [2, 1]
    assert packed_after.positions.tolist() == [0, 1, 0]


def test_repeated_and_selected_rows_keep_their_lengths() -> None:
    layout = Padded.of(torch.tensor([3, 1]), 4)
    assert layout.repeat(2).lengths_B.tolist() == [3, 3, 1, 1]
    chosen = layout.select(torch.tensor([1, 1, 0]))
    assert chosen.lengths_B.tolist() == [1, 1, 3]
    assert chosen.valid.sum(1).tolist() == [1, 1, 3]
