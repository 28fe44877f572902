"""The conditional masked language model: the paper's system.

Training (section 2.2): mask a random number of target tokens, predict them all at once, and predict the target's length
from the LENGTH position of the encoder. `decoding/masked.py` translates with it (section 3).
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from maskpredict.model.batch import Batch, Tokens, pad_rows
from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Layout
from maskpredict.model.length import LengthHead
from maskpredict.systems import Vocabulary
from maskpredict.systems.base import EncoderOutput, Loss, System
from maskpredict.systems.masking import masked_places, sample_masks


class CMLM(System):
    """Predicts any masked subset of the target from the source and the rest of the target."""

    name: ClassVar[str] = "cmlm"
    loss_parts: ClassVar[tuple[str, ...]] = ("word", "length")
    reserves_slot: ClassVar[bool] = True

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, label_smoothing: float = 0.1) -> None:
        super().__init__(config, vocabulary, label_smoothing)
        self.length = LengthHead(config.length_classes or config.max_positions, config.width)

    def loss(self, batch: Batch) -> Loss:
        """Return the cross-entropy of the masked tokens plus that of the length, both summed."""
        target, layout = batch.target.ids, batch.target.layout
        masked = sample_masks(layout)
        encoded, length_log_probs_BL, source = self.encode_tokens(batch.source)
        memory = self.transformer.memory(encoded)
        inputs = target.masked_fill(masked, self.special.mask)
        hidden = self.transformer.decode(inputs, layout, memory, source, causal=False)
        index_M, counted_M = masked_places(masked, layout)
        smooth, plain = self.word_loss(hidden.flatten(0, -2)[index_M], target.flatten()[index_M], counted_M)
        length = self.length_loss(length_log_probs_BL, layout)
        return Loss(smooth + length, counted_M.sum(), {"word": plain, "length": length})

    def length_loss(self, length_log_probs_BL: Tensor, target: Layout) -> Tensor:
        """Return the negative log-likelihood of the targets' lengths, summed."""
        log_probs_B = length_log_probs_BL.gather(1, target.lengths_B[:, None])[:, 0]
        return -torch.where(target.valid_rows, log_probs_B, 0.0).sum()

    def encode(self, source: Tokens) -> EncoderOutput:
        """As in `System`."""
        encoded, length_log_probs_BL, layout = self.encode_tokens(source)
        return EncoderOutput(self.transformer.memory(encoded), layout, length_log_probs_BL)

    def encode_tokens(self, source: Tokens) -> tuple[Tensor, Tensor, Layout]:
        """Return the encoder's output without the LENGTH position, length log-probabilities, and the layout."""
        encoded = self.transformer.encode(source.ids, source.layout, slot=self.length.slot)
        length_log_probs_BL = self.length(pad_rows(source.layout.firsts(encoded)))[: len(source.layout.lengths_B)]
        without_length, layout = source.layout.without_firsts(encoded)
        return without_length, length_log_probs_BL, layout
