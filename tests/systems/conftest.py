"""Packed rows of ids."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from maskpredict.model.batch import Tokens
from maskpredict.model.layout import Packed


@pytest.fixture
def pack() -> Callable[..., Tokens]:
    """Lays rows end to end, then rows of padding of the given sizes; with `slot`, a position in front of each."""

    def make(rows: list[list[int]], padding: list[int], *, slot: bool = False) -> Tokens:
        front = [0] if slot else []
        lines = [front + row for row in rows] + [front + [0] * size for size in padding]
        starts = torch.tensor([0, *map(len, lines)]).cumsum(0).int()
        ids = torch.tensor([token for line in lines for token in line])
        return Tokens(ids, Packed.of(starts, torch.tensor(len(rows)), len(ids), 12))

    return make
