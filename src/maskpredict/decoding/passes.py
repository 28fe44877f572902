"""The decoder as mask-predict uses it: the same drafts, pass after pass, looking at masked positions only.

Shape letters: B rows (drafts), T positions, M wanted positions, D width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from maskpredict.model.int8_transformer import Int8Passes, Int8Transformer
from maskpredict.model.layout import Padded
from maskpredict.model.transformer import Memory, Transformer


class Passes(Protocol):
    """Ready for passes over one group of drafts."""

    def __call__(self, ids_BT: Tensor, wanted_BT: Tensor) -> Tensor:
        """The decoder's output [M, D] at the wanted positions, row by row; rows without any cost nothing."""
        ...


@dataclass(frozen=True)
class Encoded:
    """Sources after the encoder, ready for any number of decoder passes."""

    memory: list[Memory]
    layout: Padded
    length_log_probs_BL: Tensor


def passes_over(transformer: Transformer, encoded: Encoded, owner: Sequence[int], layout: Padded) -> Passes:
    """Passes over drafts of this layout, each of the sentence that `owner` names."""
    if isinstance(transformer, Int8Transformer):
        return Int8Passes(transformer, encoded.memory, encoded.layout, owner, layout)
    return PaddedPasses(transformer, encoded, owner, layout)


class PaddedPasses:
    """Passes over rows of one padded width, as PyTorch runs them."""

    def __init__(self, transformer: Transformer, encoded: Encoded, owner: Sequence[int], layout: Padded) -> None:
        self.transformer, self.encoded, self.layout = transformer, encoded, layout
        self.owner_B = torch.tensor(owner, device=layout.lengths_B.device)
        self._choose(torch.ones_like(self.owner_B, dtype=torch.bool))

    def __call__(self, ids_BT: Tensor, wanted_BT: Tensor) -> Tensor:
        """As in `Passes`."""
        working_B = wanted_BT.any(1)
        if not torch.equal(working_B, self.working_B):
            self._choose(working_B)
        hidden_BTD = self.transformer.decode(ids_BT[working_B], self.own_layout, self.memory, self.source, causal=False)
        return hidden_BTD[wanted_BT[working_B]]

    def _choose(self, working_B: Tensor) -> None:
        """Let only these rows take part."""
        self.working_B = working_B
        self.own_layout = self.layout.select(working_B)
        sentence_B = self.owner_B[working_B]
        self.memory = [Memory(m.keys[sentence_B], m.values[sentence_B]) for m in self.encoded.memory]
        self.source = self.encoded.layout.select(sentence_B)
