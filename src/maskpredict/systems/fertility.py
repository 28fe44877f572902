"""A non-autoregressive transformer with fertilities (Gu et al., 2018): one pass over copies of the source.

The encoder predicts for each source word how many target words it becomes: its fertility. The decoder sees each source
word as often, and turns these copies into the translation in one pass. So the fertilities say how long it is, and
roughly what belongs where. In training they come from a word aligner, which learns beside the model.

A system that the paper compares with. Left out of Gu et al.'s is the choice between several fertilities by a teacher.
Shape letters: B sentences, S source positions, L target positions, C classes of fertility.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskpredict.model.batch import Batch, Tokens
from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Layout, Padded
from maskpredict.model.transformer import initialise
from maskpredict.systems import Vocabulary
from maskpredict.systems.base import Encoding, Loss, System
from maskpredict.systems.word_aligner import WordAligner, fertilities, surprise

MOST = 9
"""Highest fertility that is predicted."""


class Fertility(System):
    """Predicts all target words at once from copies of the source words."""

    name: ClassVar[str] = "fertility"
    loss_parts: ClassVar[tuple[str, ...]] = ("word", "fertility", "alignment")
    decodes_tokens: ClassVar[bool] = False

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, label_smoothing: float = 0.1) -> None:
        super().__init__(config, vocabulary, label_smoothing)
        self.aligner = WordAligner(vocabulary.source_size, vocabulary.target_size)
        self.fertility = nn.Linear(config.width, MOST + 1)
        initialise(self.fertility)

    def loss(self, batch: Batch) -> Loss:
        """Cross-entropy of the target's words and of the fertilities, and the aligner's own loss, all summed."""
        source, target = batch.source, batch.target
        aligned_BSL = self.aligner(batch)
        with torch.no_grad():
            fertilities_BS = fertilities(aligned_BSL, batch)
        encoded = self.transformer.encode(source.ids, source.layout)
        inputs = self._copied_inputs(source.layout.spread(source.ids), fertilities_BS, target.layout)
        memory = self.transformer.memory(encoded)
        hidden = self.transformer.decode_states(inputs, target.layout, memory, source.layout, causal=False)
        counted = target.layout.valid.flatten()
        smooth, plain = self.word_loss(hidden.flatten(0, -2), target.ids.flatten(), counted)
        fertility = self._fertility_loss(encoded, source.layout, fertilities_BS)
        alignment = surprise(aligned_BSL, batch)
        parts = {"word": plain, "fertility": fertility.detach(), "alignment": alignment.detach()}
        return Loss(smooth + fertility + alignment, counted.sum(), parts)

    def _fertility_loss(self, encoded: Tensor, layout: Layout, fertilities_BS: Tensor) -> Tensor:
        wanted = fertilities_BS[layout.rows, layout.positions].clamp(max=MOST)
        scores_NC = self.fertility(encoded).float().flatten(0, -2)
        each_N = F.cross_entropy(scores_NC, wanted.flatten(), reduction="none")
        return torch.where(layout.valid.flatten(), each_N, 0.0).sum()

    def _copied_inputs(self, ids_BS: Tensor, fertilities_BS: Tensor, target: Layout) -> Tensor:
        """Return decoder inputs for targets of this layout."""
        copied_BL = copies(fertilities_BS, target.lengths_B, target.max_length).clamp(max=ids_BS.shape[1] - 1)
        ids = ids_BS.gather(1, copied_BL)[target.rows, target.positions]
        return self.transformer.source(ids, target.positions)

    def encode(self, source: Tokens) -> FertilityEncoding:
        """As in `System`: the likeliest fertilities say how long each target is."""
        encoded = self.transformer.encode(source.ids, source.layout)
        fertilities_BS = self.fertility(encoded).argmax(-1).masked_fill(~source.layout.valid, 0)
        positions_B = fertilities_BS.sum(1).clamp(1, self.config.max_positions - 1)
        memory = self.transformer.memory(encoded)
        return FertilityEncoding(
            memory, source.layout, positions_B=positions_B, ids_BS=source.ids, fertilities_BS=fertilities_BS
        )

    def decoder_inputs(self, encoding: Encoding, tokens_BT: Tensor, target: Padded, owner_B: Tensor) -> Tensor:
        """As in `System`: embedded copies of the source, stretched where the target has another length."""
        assert isinstance(encoding, FertilityEncoding)
        return self._copied_inputs(encoding.ids_BS[owner_B], encoding.fertilities_BS[owner_B], target)


@dataclass(frozen=True, kw_only=True)
class FertilityEncoding(Encoding):
    """Sources after the encoder, with their likeliest fertilities."""

    ids_BS: Tensor
    fertilities_BS: Tensor


def copies(fertilities_BS: Tensor, lengths_B: Tensor, width: int) -> Tensor:
    """The source place [B, L] that each target place is a copy of.

    Every source place comes as often as its fertility says, from left to right. Where that does not make a target of
    the given length, it is stretched to it.
    """
    ends_BS = fertilities_BS.cumsum(1)
    stretch_B1 = ends_BS[:, -1:] / lengths_B[:, None]
    places_BL = (torch.arange(width, device=ends_BS.device) + 0.5) * stretch_B1
    return (ends_BS[:, None, :] <= places_BL[:, :, None]).sum(2)
