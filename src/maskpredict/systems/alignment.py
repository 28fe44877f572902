"""Mask-predict over alignments: a CTC model that also sees part of an alignment, so that it can revise in passes.

Chan et al. (2020) and Saharia et al. (2020) join the two; `decoding/alignment.py` translates. The decoder's input at a
position is the split encoder state, plus the embedding of what is shown there: a word or a blank. With all positions
hidden, this is CTC, and the weights are the same.

Training: the model's own best alignment of the target, from a fully hidden pass without gradient, is partly shown, and
the loss sums over all alignments that agree with what is shown (`RevealConfig` says how much that is).

Shape letters: B sentences, T positions, N positions of all sentences, L words of the target, C = L + 1, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
from torch import Tensor

from maskpredict.bounds import Share
from maskpredict.errors import UserError
from maskpredict.model.batch import Batch, Tokens
from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Layout, Padded
from maskpredict.special_ids import SpecialIds
from maskpredict.systems import TrainingOptions, Vocabulary
from maskpredict.systems.base import EncoderOutput, Loss
from maskpredict.systems.ctc import CTC, CTCOptions
from maskpredict.systems.ctc_lattice import NEVER, best_alignments
from maskpredict.systems.masking import random_subset


@dataclass(frozen=True)
class RevealConfig:
    """Positions of a target's best alignment that the model sees while it learns the others.

    Each sentence is drawn into one of three kinds: partly revealed, glanced at, or fully hidden (the rest).
    """

    partial: Share = 0.3
    """Share of sentences with a random number of positions revealed, from none to all but one: teaches revision."""
    glancing: Share = 0.3
    """Share of sentences with as many positions revealed as a share of those the model gets wrong: makes the first pass
    more consistent (Qian et al., 2021)."""
    glancing_from: Share = 0.5
    """That share of wrong positions at the start of the run."""
    glancing_to: Share = 0.1
    """The same at its end; in between it changes linearly."""

    def __post_init__(self) -> None:
        if self.partial + self.glancing > 1:
            raise UserError(
                f"reveal.partial ({self.partial}) and reveal.glancing ({self.glancing}) add up to more than 1."
            )

    def glancing_share(self, progress: float) -> float:
        """Return the share of wrong positions to reveal at this share of the run, 0 to 1."""
        return self.glancing_from + (self.glancing_to - self.glancing_from) * min(progress, 1.0)


@dataclass(frozen=True)
class AlignmentOptions(CTCOptions):
    """Options of training over alignments."""

    reveal: RevealConfig = field(default_factory=RevealConfig)
    """How much of its target an alignment model sees."""


@dataclass(frozen=True)
class Revealed:
    """An alignment of each target, and the part of it that the model sees, in the shape of the layout's ids."""

    tokens: Tensor
    """A word, or the blank as the model predicts it."""
    shown: Tensor
    """True where the position shows its token, False where it is hidden."""

    def as_input(self, special: SpecialIds) -> Tensor:
        """Return decoder input ids: MASK for a hidden position, and BOS for a blank, which as an output is MASK."""
        words = torch.where(self.tokens == special.mask, special.bos, self.tokens)
        return torch.where(self.shown, words, special.mask)


class Alignment(CTC):
    """P(hidden positions | source, shown positions), as a sum over alignments."""

    name: ClassVar[str] = "alignment"
    options_type: ClassVar[type[TrainingOptions]] = AlignmentOptions
    options: AlignmentOptions

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, label_smoothing: float = 0.1) -> None:
        super().__init__(config, vocabulary, label_smoothing)
        self.glancing_share: Tensor | None = None
        """The share of wrong positions that glancing reveals now; a tensor, because captured steps read it."""

    def set_progress(self, progress: float) -> None:
        """As in `System`."""
        share = self.options.reveal.glancing_share(progress)
        if self.glancing_share is None:
            self.glancing_share = torch.tensor(share, device=self.device)
        else:
            self.glancing_share.fill_(share)

    def loss(self, batch: Batch) -> Loss:
        """Return the negative log-likelihood of the targets given what is shown, without label smoothing.

        Targets that are too long for their source do not count.
        """
        encoding, layout = self.encode(batch.source), self.stretched(batch.source.layout)
        assert encoding.states_BTD is not None
        labels_NC = self.lattice_labels(layout, batch.target)
        with torch.no_grad():
            revealed = self._revealed(encoding, layout, labels_NC, batch.target)
        decoder_inputs = self.add_words(encoding.states_BTD, revealed.as_input(self.special))
        logits_NV = self.position_logits(decoder_inputs, encoding, layout)
        lattice = self.lattice_inputs(logits_NV, labels_NC, layout, batch.target)
        # A shown position has its token for certain: only hidden ones carry probability.
        given_NC = torch.where(labels_NC == revealed.tokens.flatten()[:, None], 0.0, NEVER)
        scores_NC = torch.where(revealed.shown.flatten()[:, None], given_NC, lattice.scores_NC)
        losses = self.lattice_loss(replace(lattice, scores_NC=scores_NC), layout, batch.target)
        shown_counts_B = torch.zeros_like(layout.lengths_B).index_add_(
            0, layout.rows.flatten(), revealed.shown.flatten().long()
        )
        hidden_losses_B = self.with_bigrams(losses.nll_B, lattice, logits_NV, layout)
        return losses.summed(torch.where(shown_counts_B > 0, losses.nll_B, hidden_losses_B))

    def decoder_inputs(self, encoding: EncoderOutput, tokens_BT: Tensor, target: Padded, owner_B: Tensor) -> Tensor:
        """As in `System`: the split encoder states, plus the words and blanks (BOS) of the draft."""
        return self.add_words(super().decoder_inputs(encoding, tokens_BT, target, owner_B), tokens_BT)

    def add_words(self, states: Tensor, seen: Tensor) -> Tensor:
        """Return states [..., D] plus the embeddings of ids [...]; MASK adds nothing."""
        words = self.transformer.target.words(seen)
        return states + torch.where((seen == self.special.mask)[..., None], 0.0, words)

    def _revealed(self, encoding: EncoderOutput, layout: Layout, labels_NC: Tensor, target: Tokens) -> Revealed:
        """Return the best alignments of the targets in a fully hidden pass, and what to show of them."""
        assert encoding.states_BTD is not None
        logits_NV = self.position_logits(encoding.states_BTD, encoding, layout)
        best_BT = best_alignments(self.lattice_inputs(logits_NV, labels_NC, layout, target))
        best_N = best_BT[layout.rows.flatten(), layout.positions.flatten()]
        tokens = labels_NC.gather(1, best_N[:, None]).view(layout.rows.shape)
        wrong_N = (logits_NV.argmax(-1) != tokens.flatten()) & layout.valid.flatten()
        return Revealed(tokens, random_subset(layout, self._shown_counts(layout, wrong_N)))

    def _shown_counts(self, layout: Layout, wrong_N: Tensor) -> Tensor:
        """Draw the number of positions [B] to show of each sentence.

        Sentences to glance at are fully hidden in validation, since what a model gets wrong changes as it learns.
        """
        wrong_B = torch.zeros_like(layout.lengths_B).index_add_(0, layout.rows.flatten(), wrong_N.long())
        random_B, kind_B = (torch.rand(wrong_B.shape, device=wrong_B.device) for _ in range(2))
        partial_B = (random_B * layout.lengths_B).long()
        if self.training:
            assert self.glancing_share is not None, "call set_progress before a training step"
            glanced_B = (self.glancing_share * wrong_B).long()
        else:
            glanced_B = torch.zeros_like(wrong_B)
        reveal = self.options.reveal
        glanced_or_none_B = torch.where(kind_B < reveal.partial + reveal.glancing, glanced_B, 0)
        return torch.where(kind_B < reveal.partial, partial_B, glanced_or_none_B)
