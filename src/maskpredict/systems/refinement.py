"""Iterative refinement (Lee et al., 2018): the system nearest to mask-predict among those the paper compares with.

It also translates in passes, but each pass sees all words of the one before and predicts all of them anew: the model
has to find out by itself which of them are wrong. So it is trained to correct: half of the time its own first guess,
half of the time the target with noise.

As with the CMLM, the first pass sees masks and the length comes from the LENGTH position, where Lee et al. copy the
source and pool the encoder's output: what is compared is then the way of refining alone.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from maskpredict.model.batch import Batch, Tokens
from maskpredict.systems.base import Loss
from maskpredict.systems.cmlm import CMLM

OWN_GUESSES = 0.5
"""Share of the sentences whose second pass corrects the model's first guess, and not noise."""
MOST_NOISE = 0.5
"""Largest share of a sentence's words that noise replaces; the share is drawn for each sentence."""


class Refinement(CMLM):
    """Predicts the whole target from the source and an earlier attempt at it."""

    name: ClassVar[str] = "refinement"

    def loss(self, batch: Batch) -> Loss:
        """Cross-entropy of all tokens in two passes, from masks and from what is to be corrected, plus the length's."""
        target, layout = batch.target.ids, batch.target.layout
        encoded, length_log_probs_BL, source = self.encode_tokens(batch.source)
        memory = self.transformer.memory(encoded)
        counted = layout.valid.flatten()

        def predict(inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            hidden = self.transformer.decode(inputs, layout, memory, source, causal=False).flatten(0, -2)
            return *self.word_loss(hidden, target.flatten(), counted), hidden

        from_masks, plain_from_masks, hidden = predict(torch.full_like(target, self.special.mask))
        with torch.no_grad():
            guess = self.transformer.output(hidden).argmax(-1).view_as(target)
        own_B = torch.rand(layout.lengths_B.shape, device=target.device) < OWN_GUESSES
        flawed = torch.where(own_B[layout.rows], guess, with_noise(batch.target, self.vocabulary.target_size))
        corrected, plain_corrected, _ = predict(flawed)

        length = self.length_loss(length_log_probs_BL, layout)
        words = plain_from_masks + plain_corrected
        return Loss(from_masks + corrected + length, 2 * counted.sum(), {"word": words, "length": length})


def with_noise(target: Tokens, vocabulary: int) -> Tensor:
    """The ids with some of them replaced: by their left or right neighbour, as in repetitions and in wrong order, or by
    any other."""
    ids, layout = target.ids, target.layout
    share_B = MOST_NOISE * torch.rand(layout.lengths_B.shape, device=ids.device)
    last = layout.positions == layout.lengths_B[layout.rows] - 1
    left = torch.where(layout.positions == 0, ids, ids.roll(1, -1))
    right = torch.where(last, ids, ids.roll(-1, -1))
    kind = torch.randint(3, ids.shape, device=ids.device)
    other = torch.where(kind == 0, left, torch.where(kind == 1, right, torch.randint_like(ids, vocabulary)))
    return torch.where(torch.rand(ids.shape, device=ids.device) < share_B[layout.rows], other, ids)
