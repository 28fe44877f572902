"""A transformer trained with connectionist temporal classification (Libovický & Helcl, 2018): one pass, any length.

Each encoder state is split into `ctc_positions` decoder inputs, by default three, and the decoder predicts a word or a
blank for each. Without repetitions and blanks, these are the translation, so no length is predicted. The probability of
a target is the sum over all its alignments. A target with more words than positions has none.

The paper compares with this system. The decoder's inputs have no position embeddings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from maskpredict.bounds import Share
from maskpredict.config import check_bounds
from maskpredict.corpus.dataset import ParallelIds
from maskpredict.model.batch import Batch, Tokens
from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Layout, Padded
from maskpredict.model.transformer import initialise
from maskpredict.systems import TrainingOptions, Vocabulary
from maskpredict.systems.base import EncoderOutput, Loss, System
from maskpredict.systems.bigram_matches import unmatched_bigrams
from maskpredict.systems.ctc_lattice import LatticeInputs, negative_log_likelihood
from maskpredict.systems.unalignable import warn_of_unalignable


@dataclass(frozen=True)
class CTCOptions(TrainingOptions):
    """Options of CTC training."""

    bigram_matches: Share = 0.0
    """Share of expected bigram matches (Shao & Feng, 2022) in the loss of a ctc or alignment model where nothing is
    shown; the rest is the likelihood. For a short training at the end, from a trained model."""

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class TargetLosses:
    """Losses of each target of a batch."""

    nll_B: Tensor
    """Negative log-likelihoods; 0 for targets that do not count."""
    counted_B: Tensor
    """True for sentences whose target has an alignment."""
    words_B: Tensor

    def summed(self, loss_B: Tensor) -> Loss:
        """Return the sum of these losses, of the targets that count."""
        total = torch.where(self.counted_B, loss_B, 0.0).sum()
        return Loss(total, (self.words_B * self.counted_B).sum(), {"word": self.nll_B.detach().sum()})


class CTC(System):
    """P(target | source) as a sum over alignments, whose positions are predicted independently of each other."""

    name: ClassVar[str] = "ctc"
    loss_parts: ClassVar[tuple[str, ...]] = ("word",)
    decodes_tokens: ClassVar[bool] = False
    options_type: ClassVar[type[TrainingOptions]] = CTCOptions
    options: CTCOptions

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, label_smoothing: float = 0.1) -> None:
        super().__init__(config, vocabulary, label_smoothing)
        self.split = nn.Linear(config.width, config.ctc_positions * config.width)
        initialise(self.split)

    @property
    def blank(self) -> int:
        """Id of the blank: MASK, which does not occur in targets."""
        return self.special.mask

    def loss(self, batch: Batch) -> Loss:
        """Return the negative log-likelihood, without label smoothing; targets that are too long do not count."""
        encoding, layout = self.encode(batch.source), self.stretched(batch.source.layout)
        assert encoding.states_BTD is not None
        logits_NV = self.position_logits(encoding.states_BTD, encoding, layout)
        lattice = self.lattice_inputs(logits_NV, self.lattice_labels(layout, batch.target), layout, batch.target)
        losses = self.lattice_loss(lattice, layout, batch.target)
        return losses.summed(self.with_bigrams(losses.nll_B, lattice, logits_NV, layout))

    def check_pairs(self, pairs: ParallelIds) -> None:
        """As in `System`: targets with more words than positions have no alignment."""
        warn_of_unalignable(pairs, self.config.ctc_positions)

    def encode(self, source: Tokens) -> EncoderOutput:
        """As in `System`: `ctc_positions` decoder inputs for each source position."""
        encoded = self.transformer.encode(source.ids, source.layout)
        positions_B = self.config.ctc_positions * source.layout.lengths_B
        memory, states = self.transformer.memory(encoded), self.split_states(encoded)
        return EncoderOutput(memory, source.layout, positions_B=positions_B, states_BTD=states)

    def split_states(self, encoded: Tensor) -> Tensor:
        """Return the states of the target positions, for the encoder's output [..., D]."""
        return self.split(encoded).unflatten(-1, (self.config.ctc_positions, -1)).flatten(-3, -2)

    def decoder_inputs(self, encoding: EncoderOutput, tokens_BT: Tensor, target: Padded, owner_B: Tensor) -> Tensor:
        """As in `System`: the split encoder states, whatever the draft."""
        assert encoding.states_BTD is not None
        return encoding.states_BTD[owner_B, : tokens_BT.shape[1]]

    def stretched(self, source: Layout) -> Layout:
        """Return the layout of the target positions."""
        return source.stretched(self.config.ctc_positions)

    def position_logits(self, inputs: Tensor, encoding: EncoderOutput, layout: Layout) -> Tensor:
        """Return the logits [N, V] of every position, for decoder inputs [..., D]."""
        hidden = self.transformer.decode_states(inputs, layout, encoding.memory, encoding.layout, causal=False)
        return self.transformer.output(hidden.flatten(0, -2)).float()

    def lattice_labels(self, layout: Layout, target: Tokens) -> Tensor:
        """Return the ids [N, C] that each position may have: the blank, then the words of its target."""
        words_BL = target.layout.spread(target.ids)
        blanks_B1 = torch.full_like(words_BL[:, :1], self.blank)
        return torch.cat([blanks_B1, words_BL], 1)[layout.rows.flatten()]

    def lattice_inputs(self, logits_NV: Tensor, labels_NC: Tensor, layout: Layout, target: Tokens) -> LatticeInputs:
        """Return log-probabilities of the blank and the target's words at each position."""
        scores_NC = logits_NV.gather(1, labels_NC) - logits_NV.logsumexp(-1, keepdim=True)
        places = torch.arange(len(logits_NV), device=logits_NV.device).view(layout.rows.shape)
        words_BL = target.layout.spread(target.ids)
        return LatticeInputs(scores_NC, layout.spread(places), layout.lengths_B, words_BL, target.layout.lengths_B)

    def with_bigrams(self, nll_B: Tensor, inputs: LatticeInputs, logits_NV: Tensor, layout: Layout) -> Tensor:
        """Mix the negative log-likelihoods [B] of fully hidden targets with the share of unmatched bigrams.

        That share is multiplied by the number of words, over which the negative log-likelihood is a sum, too.
        """
        if not self.options.bigram_matches:
            return nll_B
        unmatched_B = inputs.word_counts_B * unmatched_bigrams(inputs, logits_NV, layout, self.blank)
        return torch.lerp(nll_B, unmatched_B, self.options.bigram_matches)

    def lattice_loss(self, inputs: LatticeInputs, layout: Layout, target: Tokens) -> TargetLosses:
        """Return the negative log-likelihood of the targets that have an alignment."""
        nll_B = negative_log_likelihood(inputs, layout.rows.flatten(), layout.positions.flatten())
        counted_B = target.layout.valid_rows & nll_B.isfinite()
        return TargetLosses(torch.where(counted_B, nll_B, 0.0), counted_B, target.layout.lengths_B)
