"""A non-autoregressive transformer with fertilities (Gu et al., 2018): one pass over copies of the source.

The encoder predicts for each source word how many target words it becomes: its fertility. The decoder sees each source
word as often, and turns these copies into the translation in one pass. So the fertilities say how long it is, and
roughly what belongs where. In training they come from a word aligner, which learns beside the model.

A system that the paper compares with. Left out of Gu et al.'s is the choice between several fertilities by a teacher.
Shape letters: B sentences, S source positions, L target positions, C classes of fertility.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
        copied_BL = copies(fertilities_BS, target.lengths_B, target.max_length).clamp(max=ids_BS.shape[1] - 1)
        ids = ids_BS.gather(1, copied_BL)[target.rows, target.positions]
        states = self.transformer.source(ids, target.positions)
        memory = self.transformer.memory(encoded)
        return self.transformer.decode_states(states, target, memory, source.layout, causal=False)

    @torch.inference_mode()
    def translate(self, requests: Sequence[Request], settings: OnePassSettings) -> list[list[Hypothesis]]:
        """The likeliest word at each position, after the likeliest fertilities."""
        refuse_constraints(requests, self.name)
        sources = self._encode(requests)
        lengths = sources.fertilities_BS.sum(1).clamp(1, self.config.max_positions - 1).tolist()
        found: dict[int, list[Hypothesis]] = {}
        for rows, logits_RLV in self._of_one_width(sources, lengths, settings):
            best = best_tokens(logits_RLV.flatten(0, 1), 1)
            ids_RL, log_probs_RL = (x.view(len(rows), -1).tolist() for x in (best.tokens_RC, best.log_probs_RC))
            for row, ids, log_probs in zip(rows, ids_RL, log_probs_RL, strict=True):
                found[row] = [_hypothesis(ids[: lengths[row]], log_probs[: lengths[row]])]
        return [found[row] for row in range(len(requests))]

    @torch.inference_mode()
    def score(
        self, requests: Sequence[Request], targets: Sequence[Sequence[int]], settings: OnePassSettings
    ) -> list[Hypothesis]:
        """The targets after the likeliest fertilities, which for another length are stretched."""
        found: dict[int, Hypothesis] = {}
        lengths = list(map(len, targets))
        for rows, logits_RLV in self._of_one_width(self._encode(requests), lengths, settings):
            ids_RL = pad([targets[row] for row in rows], self.special.pad, self.device).ids
            norm_RL = best_tokens(logits_RLV.flatten(0, 1), 1).norm_R.view(ids_RL.shape)
            log_probs_RL = (logits_RLV.gather(2, ids_RL[:, :, None])[:, :, 0].float() - norm_RL).tolist()
            for row, log_probs in zip(rows, log_probs_RL, strict=True):
                found[row] = _hypothesis(list(targets[row]), log_probs[: lengths[row]])
        return [found[row] for row in range(len(requests))]

    def _encode(self, requests: Sequence[Request]) -> _Sources:
        source = pad([request.source for request in requests], self.special.pad, self.device)
        encoded = self.transformer.encode(source.ids, source.layout)
        return _Sources(encoded, source, self.fertility(encoded).argmax(-1).masked_fill(~source.layout.valid, 0))

    def _of_one_width(
        self, sources: _Sources, lengths: list[int], settings: OnePassSettings
    ) -> Iterator[tuple[list[int], Tensor]]:
        """Sentences whose targets have one padded width, on which rounding depends, and their logits [R, L, V]."""
        widths = [round_up(length) for length in lengths]
        for width in sorted(set(widths)):
            rows = [row for row, own in enumerate(widths) if own == width]
            own = sources.select(torch.tensor(rows, device=self.device))
            target = Padded.of(torch.tensor([lengths[row] for row in rows], device=self.device), width)
            hidden = self._decode(own.encoded, own.tokens, own.fertilities_BS, target)
            yield rows, suppress(self.transformer.output(hidden), settings.suppress_tokens)


@dataclass(frozen=True)
class _Sources:
    """After the encoder."""

    encoded: Tensor
    tokens: Tokens
    fertilities_BS: Tensor
    """The likeliest."""

    def select(self, rows: Tensor) -> _Sources:
        layout = self.tokens.layout
        assert isinstance(layout, Padded)
        tokens = Tokens(self.tokens.ids[rows], layout.select(rows))
        return _Sources(self.encoded[rows], tokens, self.fertilities_BS[rows])


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
