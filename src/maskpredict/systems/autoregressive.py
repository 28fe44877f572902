"""The standard left-to-right transformer: the baseline, and the teacher of the distilled corpus.

`decoding/beam.py` translates with it.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from maskpredict.model.batch import Batch, Tokens
from maskpredict.model.layout import Layout
from maskpredict.model.transformer import Memory
from maskpredict.systems.base import Loss, System


class Autoregressive(System):
    """P(target | source) as a product over positions, each conditioned on all earlier ones."""

    name: ClassVar[str] = "autoregressive"
    loss_parts: ClassVar[tuple[str, ...]] = ("word",)

    def loss(self, batch: Batch) -> Loss:
        """Return the cross-entropy of every target token given those before it."""
        source, target = batch.source, batch.target
        memory = self.transformer.memory(self.transformer.encode(source.ids, source.layout))
        hidden = self.hidden(target, memory, source.layout)
        counted = target.layout.valid.flatten()
        smooth, plain = self.word_loss(hidden.flatten(0, -2), target.ids.flatten(), counted)
        return Loss(smooth, counted.sum(), {"word": plain})

    def hidden(self, target: Tokens, memory: list[Memory], source: Layout) -> Tensor:
        """Return the decoder's output at each position, given the tokens before it."""
        shifted = target.ids.roll(1, -1)
        inputs = torch.where(target.layout.positions == 0, self.special.bos, shifted)
        return self.transformer.decode(inputs, target.layout, memory, source, causal=True)
