"""Batches of ids with their layout, and padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor

from maskpredict.model.layout import Layout, Padded
from maskpredict.model.padding import padded_width, round_up


@dataclass(frozen=True)
class Tokens:
    """Sentences as ids, in the shape that `layout` describes."""

    ids: Tensor
    layout: Layout


@dataclass(frozen=True)
class Batch:
    """Sentence pairs, each sentence with its end mark; the source begins with a slot where the system reserves one."""

    source: Tokens
    target: Tokens


def pad(rows: Sequence[Sequence[int]], fill: int, device: torch.device, *, slot: bool = False) -> Tokens:
    """Return rows of ids padded to a common width; with `slot`, one position is reserved in front of each."""
    front = int(slot)
    width = padded_width(max(map(len, rows)), slot=slot)
    ids = torch.full((len(rows), width), fill, dtype=torch.long)
    layout = Padded.of(torch.tensor([front + len(row) for row in rows]), width)
    ids[layout.valid & (layout.positions >= front)] = torch.tensor(list(chain(*rows)), dtype=torch.long)
    return Tokens(ids.to(device), Padded.of(layout.lengths_B.to(device), width))


def pad_rows(x: Tensor) -> Tensor:
    """Return x [M, ...] with rows of zeros added up to a multiple of eight."""
    missing = round_up(x.shape[0]) - x.shape[0]
    return torch.cat([x, x.new_zeros(missing, *x.shape[1:])]) if missing else x
