"""Iterative refinement (Lee et al., 2018): of the systems the paper compares with, the nearest to mask-predict.

It also translates in passes, but each pass sees all words of the previous one and predicts all of them again: the model
itself must find the wrong ones. So it is trained to correct its own first guess for half of the sentences, and the
target with noise for the other half.

As in the CMLM, the first pass sees masks and the length comes from the LENGTH position. Lee et al. copy the source and
pool the encoder's output instead. So the comparison is between the methods of refining alone.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from maskpredict.model.batch import Batch, Tokens
from maskpredict.systems.base import Loss
from maskpredict.systems.cmlm import CMLM

OWN_GUESS_SHARE = 0.5
"""Share of the sentences whose second pass corrects the model's first guess instead of noise."""
MAX_NOISE = 0.5
"""Largest share of a sentence's words that noise replaces; the share is drawn for each sentence."""


class Refinement(CMLM):
    """Predicts the whole target from the source and the previous prediction."""

    name: ClassVar[str] = "refinement"

    def loss(self, batch: Batch) -> Loss:
        """Return the cross-entropy of all tokens in two passes, from masks and from flaws, plus the length's."""
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
        from_guess_B = torch.rand(layout.lengths_B.shape, device=target.device) < OWN_GUESS_SHARE
        flawed = torch.where(from_guess_B[layout.rows], guess, with_noise(batch.target, self.vocabulary.target_size))
        corrected, plain_corrected, _ = predict(flawed)

        length = self.length_loss(length_log_probs_BL, layout)
        words = plain_from_masks + plain_corrected
        return Loss(from_masks + corrected + length, 2 * counted.sum(), {"word": words, "length": length})


def with_noise(target: Tokens, vocabulary: int) -> Tensor:
    """Return the ids with some replaced by their left or right neighbour, as in repetitions, or by any token."""
    ids, layout = target.ids, target.layout
    share_B = MAX_NOISE * torch.rand(layout.lengths_B.shape, device=ids.device)
    last = layout.positions == layout.lengths_B[layout.rows] - 1
    left = torch.where(layout.positions == 0, ids, ids.roll(1, -1))
    right = torch.where(last, ids, ids.roll(-1, -1))
    kind = torch.randint(3, ids.shape, device=ids.device)
    other = torch.where(kind == 0, left, torch.where(kind == 1, right, torch.randint_like(ids, vocabulary)))
    return torch.where(torch.rand(ids.shape, device=ids.device) < share_B[layout.rows], other, ids)
