"""A non-autoregressive transformer with fertilities (Gu et al., 2018): one pass over copies of the source.

The encoder predicts the fertility of each source word: the number of target words it becomes. The decoder's input has
as many copies of the word, and becomes the translation in one pass. So the fertilities determine its length and rough
word order. In training they come from a word aligner, which is trained jointly. Decoder layers attend by position, too
(`PositionalAttention`). `decoding/fertility.py` translates: by argmax, by average, or with several fertilities between
which a teacher chooses.

The paper compares with this system. Gu et al. fine-tune model and fertilities together at the end of training, with a
word-by-word loss from the teacher on the model's output and REINFORCE. This is left out: it needs the teacher in memory
and samples at every step, and is one more stage of training, whereas all systems compared here see the same distilled
text for the same number of tokens. Also left out is the mask that keeps a position from attending to itself.

Shape letters: B sentences, S source positions, L target positions, C classes of fertility.
"""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskpredict.model.batch import Batch, Tokens
from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Layout, Padded
from maskpredict.model.transformer import initialise
from maskpredict.systems import Vocabulary
from maskpredict.systems.base import EncoderOutput, Loss, System
from maskpredict.systems.positional_attention import PositionalLayer
from maskpredict.systems.word_aligner import WordAligner, alignment_loss, fertilities

MAX_FERTILITY = 9
"""Highest fertility that the model predicts."""


class Fertility(System):
    """Predicts all target words at once from copies of the source words."""

    name: ClassVar[str] = "fertility"
    loss_parts: ClassVar[tuple[str, ...]] = ("word", "fertility", "alignment")
    decodes_tokens: ClassVar[bool] = False

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, label_smoothing: float = 0.1) -> None:
        super().__init__(config, vocabulary, label_smoothing)
        self.aligner = WordAligner(vocabulary.source_size, vocabulary.target_size)
        self.fertility = nn.Linear(config.width, MAX_FERTILITY + 1)
        self.transformer.decoder = nn.ModuleList(PositionalLayer(config) for _ in range(config.decoder_layers))
        for part in (self.fertility, self.transformer.decoder):
            part.apply(initialise)

    def loss(self, batch: Batch) -> Loss:
        """Return the sum of the cross-entropies of words and fertilities and the aligner's loss."""
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
        alignment = alignment_loss(aligned_BSL, batch)
        parts = {"word": plain, "fertility": fertility.detach(), "alignment": alignment.detach()}
        return Loss(smooth + fertility + alignment, counted.sum(), parts)

    def _fertility_loss(self, encoded: Tensor, layout: Layout, fertilities_BS: Tensor) -> Tensor:
        classes = fertilities_BS[layout.rows, layout.positions].clamp(max=MAX_FERTILITY)
        scores_NC = self.fertility(encoded).float().flatten(0, -2)
        losses_N = F.cross_entropy(scores_NC, classes.flatten(), reduction="none")
        return torch.where(layout.valid.flatten(), losses_N, 0.0).sum()

    def _copied_inputs(self, ids_BS: Tensor, fertilities_BS: Tensor, target: Layout) -> Tensor:
        """Return decoder inputs for targets of this layout."""
        copied_BL = copies(fertilities_BS, target.lengths_B, target.max_length).clamp(max=ids_BS.shape[1] - 1)
        ids = ids_BS.gather(1, copied_BL)[target.rows, target.positions]
        return self.transformer.source(ids, target.positions)

    def encode(self, source: Tokens) -> EncoderOutput:
        """As in `System`."""
        encoded = self.transformer.encode(source.ids, source.layout)
        log_probs_BSC = self.fertility(encoded).float().log_softmax(-1)
        return EncoderOutput(self.transformer.memory(encoded), source.layout, fertility_log_probs_BSC=log_probs_BSC)

    def decoder_inputs(self, encoding: EncoderOutput, tokens_BT: Tensor, target: Padded, owner_B: Tensor) -> Tensor:
        """As in `System`: the draft is copies of the source words."""
        return self.transformer.source(tokens_BT, target.positions)


def copies(fertilities_BS: Tensor, lengths_B: Tensor, width: int) -> Tensor:
    """Return the source position [B, L] that each target position copies.

    Each source position is copied as often as its fertility, from left to right. If the sum of fertilities is not the
    target's length, the copies are stretched to it.
    """
    ends_BS = fertilities_BS.cumsum(1)
    stretch_B1 = ends_BS[:, -1:] / lengths_B[:, None]
    places_BL = (torch.arange(width, device=ends_BS.device) + 0.5) * stretch_B1
    return (ends_BS[:, None, :] <= places_BL[:, :, None]).sum(2)
