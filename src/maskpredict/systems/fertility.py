"""A non-autoregressive transformer with fertilities (Gu et al., 2018): one pass over copies of the source.

The encoder predicts for each source word how many target words it becomes: its fertility. The decoder sees each source
word as often, and turns these copies into the translation in one pass. So the fertilities say how long it is, and
roughly what belongs where. In training they come from a word aligner, which learns beside the model.

A system that the paper compares with. Left out of Gu et al.'s is the choice between several fertilities by a teacher.
Shape letters: B sentences, S source positions, L target positions, C classes of fertility.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskpredict.decoding.best_tokens import best_tokens
from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.model.batch import Batch, Tokens, pad, round_up
from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Layout, Padded
from maskpredict.model.transformer import initialise, suppress
from maskpredict.systems.base import Loss, System, Vocabulary, refuse_constraints
from maskpredict.systems.one_pass import OnePassSettings
from maskpredict.systems.word_aligner import WordAligner, fertilities, surprise

MOST = 9
"""Highest fertility that is predicted."""


class Fertility(System):
    """Predicts all target words at once from copies of the source words."""

    name: ClassVar[str] = "fertility"
    settings_type: ClassVar[type] = OnePassSettings
    loss_parts: ClassVar[tuple[str, ...]] = ("word", "fertility", "alignment")

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
        hidden = self._decode(encoded, source, fertilities_BS, target.layout)
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

    def _decode(self, encoded: Tensor, source: Tokens, fertilities_BS: Tensor, target: Layout) -> Tensor:
        """The decoder's output for targets of this layout."""
        ids_BS = source.layout.spread(source.ids)
        width = target.spread(target.rows).shape[1]
        copied_BL = copies(fertilities_BS, target.lengths_B, width).clamp(max=ids_BS.shape[1] - 1)
        ids = ids_BS.gather(1, copied_BL)[target.rows, target.positions]
        states = self.transformer.source(ids, target.positions)
        memory = self.transformer.memory(encoded)
        return self.transformer.decode_states(states, target, memory, source.layout, causal=False)

    @torch.inference_mode()
    def translate(self, requests: Sequence[Request], settings: OnePassSettings) -> list[list[Hypothesis]]:
        """The likeliest word at each position, after the likeliest fertilities."""
        refuse_constraints(requests, self.name)
        encoded, source, fertilities_BS = self._encode(requests)
        lengths_B = fertilities_BS.sum(1).clamp(1, self.config.max_positions - 1)
        target = Padded.of(lengths_B, round_up(int(lengths_B.max())))
        best = best_tokens(self._logits(encoded, source, fertilities_BS, target, settings), 1)
        ids_BL, log_probs_BL = (found.view(target.rows.shape).tolist() for found in (best.tokens_RC, best.log_probs_RC))
        rows = zip(ids_BL, log_probs_BL, lengths_B.tolist(), strict=True)
        return [[_hypothesis(ids[:length], log_probs[:length])] for ids, log_probs, length in rows]

    @torch.inference_mode()
    def score(
        self, requests: Sequence[Request], targets: Sequence[Sequence[int]], settings: OnePassSettings
    ) -> list[Hypothesis]:
        """The targets after the likeliest fertilities, which for another length are stretched."""
        encoded, source, fertilities_BS = self._encode(requests)
        given = pad(targets, self.special.pad, self.device)
        assert isinstance(given.layout, Padded)
        logits_NV = self._logits(encoded, source, fertilities_BS, given.layout, settings)
        norm_N = best_tokens(logits_NV, 1).norm_R
        log_probs_N = logits_NV.gather(1, given.ids.flatten()[:, None])[:, 0].float() - norm_N
        rows = zip(targets, log_probs_N.view(given.ids.shape).tolist(), strict=True)
        return [_hypothesis(list(ids), log_probs[: len(ids)]) for ids, log_probs in rows]

    def _encode(self, requests: Sequence[Request]) -> tuple[Tensor, Tokens, Tensor]:
        """The encoder's output, what it saw, and the likeliest fertilities [B, S]."""
        source = pad([request.source for request in requests], self.special.pad, self.device)
        encoded = self.transformer.encode(source.ids, source.layout)
        fertilities_BS = self.fertility(encoded).argmax(-1).masked_fill(~source.layout.valid, 0)
        return encoded, source, fertilities_BS

    def _logits(
        self, encoded: Tensor, source: Tokens, fertilities_BS: Tensor, target: Padded, settings: OnePassSettings
    ) -> Tensor:
        hidden = self._decode(encoded, source, fertilities_BS, target)
        return suppress(self.transformer.output(hidden.flatten(0, 1)), settings.suppress_tokens)


def copies(fertilities_BS: Tensor, lengths_B: Tensor, width: int) -> Tensor:
    """The source place [B, L] that each target place is a copy of.

    Every source place comes as often as its fertility says, from left to right. Where that does not make a target of
    the given length, it is stretched to it.
    """
    ends_BS = fertilities_BS.cumsum(1)
    stretch_B1 = ends_BS[:, -1:] / lengths_B[:, None]
    places_BL = (torch.arange(width, device=ends_BS.device) + 0.5) * stretch_B1
    return (ends_BS[:, None, :] <= places_BL[:, :, None]).sum(2)


def _hypothesis(ids: list[int], log_probs: list[float]) -> Hypothesis:
    return Hypothesis(ids, log_probs, sum(log_probs) / len(log_probs), passes=1)
