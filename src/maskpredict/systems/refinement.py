"""Iterative refinement (Lee et al., 2018): of the systems the paper compares with, the nearest to mask-predict.

It also translates in passes, but each pass sees all words of the previous one and predicts all of them again: the
model itself must find the wrong ones. So it is trained on `REFINEMENTS` passes after the first. Each corrects, for half
of the sentences, what the model said in the pass before; for the other half, the target after Lee et al.'s corruption.

As in the CMLM, the first pass sees masks and the length comes from the LENGTH position. Lee et al. copy the source and
pool the encoder's output instead, and have a second decoder for all passes after the first. One decoder does both here:
it sees masks in the first pass and words in the others, and so knows which it is in, as the CMLM's does; and with a
second one, the model would be larger than those it is compared with. So the comparison is between the methods of
refining alone.
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
OWN_GUESS_SHARE = 0.5
"""Share of the sentences that a pass corrects as the model said them in the pass before, instead of corrupted."""
CORRUPTED_SHARE = 0.5
"""Share of a sentence's words at which it is corrupted."""


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
                guess = self.transformer.output(hidden).argmax(-1).view_as(target)
            own_B = torch.rand(layout.lengths_B.shape, device=target.device) < OWN_GUESS_SHARE
            flawed = torch.where(own_B[layout.rows], guess, corrupted(batch.target, self.vocabulary.target_size))
            pass_smooth, pass_plain, hidden = predict(flawed)
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
    """Return the word that arrives at each place, where those at some places go on to the next."""
    flat = ids.flatten()
    places = torch.arange(len(flat), device=ids.device)
    arrives = moves_on.flatten().roll(1)
    return flat[torch.where(arrives, 0, places).cummax(0).values].view_as(ids)
