"""Iterative refinement (Lee et al., 2018): of the systems the paper compares with, the nearest to mask-predict.

It also translates in passes, but each pass sees all words of the previous one and predicts all of them again: the
model itself must find the wrong ones. So it is trained on `REFINEMENTS` passes after the first. For half of the
sentences, their input is the prediction of the pass before, for the others the target after Lee et al.'s corruption.

As in the CMLM, the first pass sees masks and the length comes from the LENGTH position. Lee et al. copy the source and
pool the encoder's output instead, and have a second decoder for all passes after the first. Here one decoder does both,
as the CMLM's does: it sees masks in the first pass and words in the others. With a second decoder, the model would be
larger than those it is compared with.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from maskpredict.model.batch import Batch, Tokens
from maskpredict.systems.base import Loss
from maskpredict.systems.cmlm import CMLM

REFINEMENTS = 4
"""Passes after the first that an update trains."""
PREDICTED_SHARE = 0.5
"""Share of the sentences whose input is the prediction of the pass before; that of the others is a corrupted target."""
CORRUPTED_SHARE = 0.5
"""Share of the words of a corrupted target that are corrupted."""


class Refinement(CMLM):
    """Predicts the whole target from the source and the previous prediction."""

    name: ClassVar[str] = "refinement"

    def loss(self, batch: Batch) -> Loss:
        """Return the cross-entropy of all tokens in all passes, plus the length's."""
        target, layout = batch.target.ids, batch.target.layout
        encoded, length_log_probs_BL, source = self.encode_tokens(batch.source)
        memory = self.transformer.memory(encoded)
        counted = layout.valid.flatten()

        def predict(inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            hidden = self.transformer.decode(inputs, layout, memory, source, causal=False).flatten(0, -2)
            return *self.word_loss(hidden, target.flatten(), counted), hidden

        smooth, plain, hidden = predict(torch.full_like(target, self.special.mask))
        for _ in range(REFINEMENTS):
            with torch.no_grad():
                predicted = self.transformer.output(hidden).argmax(-1).view_as(target)
            use_predicted_B = torch.rand(layout.lengths_B.shape, device=target.device) < PREDICTED_SHARE
            noisy = corrupted(batch.target, self.vocabulary.target_size)
            pass_smooth, pass_plain, hidden = predict(torch.where(use_predicted_B[layout.rows], predicted, noisy))
            smooth, plain = smooth + pass_smooth, plain + pass_plain

        length = self.length_loss(length_log_probs_BL, layout)
        return Loss(smooth + length, (1 + REFINEMENTS) * counted.sum(), {"word": plain, "length": length})


def corrupted(target: Tokens, vocabulary: int) -> Tensor:
    """Return the ids after Lee et al.'s corruption, from left to right.

    At a corrupted word, one of three happens: the word also replaces its right neighbour; any word replaces it; or it
    changes places with its right neighbour. A word that was moved to the right may be moved on. The last word has no
    neighbour to move to.
    """
    ids, layout = target.ids, target.layout
    last = layout.positions == layout.lengths_B[layout.rows] - 1
    kind = torch.randint(3, ids.shape, device=ids.device)
    is_corrupted = torch.rand(ids.shape, device=ids.device) < CORRUPTED_SHARE
    any_word = torch.randint_like(ids, vocabulary)
    moves_on = is_corrupted & (kind != 1) & ~last & layout.valid
    carried = moved_right(ids, moves_on)
    swapped = is_corrupted & (kind == 2) & ~last
    replaced = torch.where(swapped, ids.roll(-1, -1), carried)
    return torch.where(is_corrupted & (kind == 1), any_word, replaced)


def moved_right(ids: Tensor, moves_on: Tensor) -> Tensor:
    """Return ids in which a word replaces its right neighbour where `moves_on`, and the next one if True there, too."""
    flat = ids.flatten()
    places = torch.arange(len(flat), device=ids.device)
    arrives = moves_on.flatten().roll(1)
    return flat[torch.where(arrives, 0, places).cummax(0).values].view_as(ids)
