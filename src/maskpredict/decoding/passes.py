"""The decoder as mask-predict uses it: the same drafts, pass after pass, looking at masked positions only.

Shape letters: B rows (drafts), T positions, M wanted positions, R some of them, D width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from maskpredict.decoding.best_tokens import Predicted, predicted, rows_at_once
from maskpredict.decoding.onnxruntime_passes import EncodedApart, OnnxruntimePasses
from maskpredict.model.batch import pad_rows
from maskpredict.model.int8_transformer import Int8Passes, Int8Transformer
from maskpredict.model.layout import Padded
from maskpredict.model.transformer import Memory, Transformer


class Passes(Protocol):
    """Ready for passes over one group of drafts. Rows with no wanted positions cost nothing."""

    def logits(self, ids_BT: Tensor, wanted_BT: Tensor, suppressed: tuple[int, ...]) -> Iterator[Tensor]:
        """Logits [R, V] of all tokens at the wanted positions, row by row, some positions at a time."""
        ...

    def predict(
        self, ids_BT: Tensor, wanted_BT: Tensor, suppressed: tuple[int, ...], given_BT: Tensor | None
    ) -> Predicted:
        """The likeliest token at each wanted position that is not suppressed, and how likely the given ones are."""
        ...


@dataclass(frozen=True)
class Encoded:
    """Sources after the encoder, ready for any number of decoder passes."""

    memory: list[Memory]
    layout: Padded
    length_log_probs_BL: Tensor


def passes_over(
    transformer: Transformer, encoded: Encoded | EncodedApart, owner: Sequence[int], layout: Padded
) -> Passes:
    """Passes over drafts of this layout, each of the sentence that `owner` names."""
    if isinstance(encoded, EncodedApart):
        return OnnxruntimePasses(encoded, owner, layout)
    if isinstance(transformer, Int8Transformer):
        return Projected(transformer, Int8Passes(transformer, encoded.memory, encoded.layout, owner, layout))
    return Projected(transformer, PaddedPasses(transformer, encoded, owner, layout))


@dataclass(frozen=True)
class Projected:
    """Passes that end at the decoder's output, and the vocabulary behind them."""

    transformer: Transformer
    hidden: Callable[[Tensor, Tensor], Tensor]
    """(ids_BT, wanted_BT) -> the decoder's output [M, D] at the wanted positions, row by row."""

    def logits(self, ids_BT: Tensor, wanted_BT: Tensor, suppressed: tuple[int, ...]) -> Iterator[Tensor]:
        """As in `Passes`."""
        # Only wanted positions need the vocabulary, by far the largest matrix product.
        hidden_MD = self.hidden(ids_BT, wanted_BT)
        barred = torch.tensor(suppressed, dtype=torch.long, device=hidden_MD.device)
        for hidden_RD in hidden_MD.split(rows_at_once(hidden_MD)):
            rows_RD = hidden_RD if self.transformer.sentence_by_sentence else pad_rows(hidden_RD)
            yield self.transformer.logits(rows_RD)[: len(hidden_RD)].index_fill_(1, barred, float("-inf"))

    def predict(
        self, ids_BT: Tensor, wanted_BT: Tensor, suppressed: tuple[int, ...], given_BT: Tensor | None
    ) -> Predicted:
        """As in `Passes`."""
        given_M = None if given_BT is None else given_BT[wanted_BT]
        return predicted(self.logits(ids_BT, wanted_BT, suppressed), given_M)


class PaddedPasses:
    """Passes over rows of one padded width, as PyTorch runs them."""

    def __init__(self, transformer: Transformer, encoded: Encoded, owner: Sequence[int], layout: Padded) -> None:
        self.transformer, self.encoded, self.layout = transformer, encoded, layout
        self.owner_B = torch.tensor(owner, device=layout.lengths_B.device)
        self._choose(torch.ones_like(self.owner_B, dtype=torch.bool))

    def __call__(self, ids_BT: Tensor, wanted_BT: Tensor) -> Tensor:
        """The decoder's output [M, D] at the wanted positions."""
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
