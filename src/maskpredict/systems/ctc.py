"""A transformer trained with connectionist temporal classification (Libovický & Helcl, 2018): one pass, any length.

The encoder's output is made three times as long, or as `ctc_positions` says, and the decoder says a word or nothing at
each of these positions. What they say, less repetitions and blanks, is the translation, so its length need not be
known. Training takes the target's words at whichever positions suit: the probability of a target is that of all its
alignments together. One with more words than positions has none.

A system that the paper compares with. The decoder takes the lengthened output as it is, without positions of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import ClassVar

import torch
from torch import Tensor, nn

from maskpredict.decoding.best_tokens import best_tokens, rows_at_once
from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.errors import UserError
from maskpredict.model.batch import Batch, Tokens, pad, pad_rows
from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Layout
from maskpredict.model.transformer import initialise
from maskpredict.systems.alignments import Problem, best_alignment, surprise_of
from maskpredict.systems.base import Loss, Sharing, System, Vocabulary, refuse_constraints
from maskpredict.systems.one_pass import OnePassSettings


class CTC(System):
    """P(target | source) as a sum over alignments, whose positions are predicted independently of each other."""

    name: ClassVar[str] = "ctc"
    settings_type: ClassVar[type] = OnePassSettings
    loss_parts: ClassVar[tuple[str, ...]] = ("word",)

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, label_smoothing: float = 0.1) -> None:
        super().__init__(config, vocabulary, label_smoothing)
        self.split = nn.Linear(config.width, config.ctc_positions * config.width)
        initialise(self.split)

    @property
    def sharing(self) -> Sharing:
        """As in `System`; any in eight bits."""
        return "any" if self.transformer.sentence_by_sentence else super().sharing

    @property
    def blank(self) -> int:
        """The id that stands for nothing: MASK, which no target has."""
        return self.special.mask

    def loss(self, batch: Batch) -> Loss:
        """-log of the targets' probabilities, without label smoothing; targets that are too long do not count."""
        target = batch.target
        hidden, layout = self._hidden(batch.source)
        logits_NV = self.transformer.output(hidden.flatten(0, -2)).float()
        problem = self._problem(logits_NV.logsumexp(-1), logits_NV, layout, target)
        surprise_B = surprise_of(problem, layout.rows.flatten(), layout.positions.flatten())
        counts_B = target.layout.valid_rows & surprise_B.isfinite()
        total = torch.where(counts_B, surprise_B, 0.0).sum()
        return Loss(total, (target.layout.lengths_B * counts_B).sum(), {"word": total.detach()})

    def _hidden(self, source: Tokens) -> tuple[Tensor, Layout]:
        """The decoder's output, and how it lies."""
        times = self.config.ctc_positions
        layout = source.layout.stretched(times)
        encoded = self.transformer.encode(source.ids, source.layout)
        states = self.split(encoded).unflatten(-1, (times, -1)).flatten(-3, -2)
        memory = self.transformer.memory(encoded)
        return self.transformer.decode_states(states, layout, memory, source.layout, causal=False), layout

    def _problem(self, norm_N: Tensor, logits_NV: Tensor, layout: Layout, target: Tokens) -> Problem:
        """The target's words to be spread over the positions."""
        words_BL = target.layout.spread(target.ids)
        blanks_B1 = torch.full_like(words_BL[:, :1], self.blank)
        wanted_NC = torch.cat([blanks_B1, words_BL], 1)[layout.rows.flatten()]
        scores_NC = logits_NV.gather(1, wanted_NC).float() - norm_N[:, None]
        places = torch.arange(len(logits_NV), device=logits_NV.device).view(layout.rows.shape)
        return Problem(scores_NC, layout.spread(places), layout.lengths_B, words_BL, target.layout.lengths_B)

    @torch.inference_mode()
    def translate(self, requests: Sequence[Request], settings: OnePassSettings) -> list[list[Hypothesis]]:
        """The likeliest word or blank at each position, less repetitions and blanks."""
        hidden, layout = self._hidden(self._padded(requests))
        hidden_ND = hidden[layout.valid]
        found = [best_tokens(self._logits(part, settings), 1) for part in hidden_ND.split(rows_at_once(hidden_ND))]
        ids = iter(torch.cat([best.tokens_RC[:, 0] for best in found]).tolist())
        log_probs = iter(torch.cat([best.log_probs_RC[:, 0] for best in found]).tolist())
        return [
            [_hypothesis(list(islice(ids, length)), list(islice(log_probs, length)), self.blank)]
            for length in layout.lengths_B.tolist()
        ]

    @torch.inference_mode()
    def score(
        self, requests: Sequence[Request], targets: Sequence[Sequence[int]], settings: OnePassSettings
    ) -> list[Hypothesis]:
        """The targets with their likeliest alignments: what `translate` finds is the likeliest of its own."""
        hidden, layout = self._hidden(self._padded(requests))
        logits_NV = self._logits(hidden.flatten(0, 1), settings)
        norm_N = best_tokens(logits_NV, 1).norm_R
        problem = self._problem(norm_N, logits_NV, layout, pad(targets, self.special.pad, self.device))
        found = []
        for row, alignment in enumerate(best_alignment(problem)):
            if alignment is None:
                raise UserError(f"a target of {len(targets[row])} subwords is too long for its source; shorten it.")
            scores_TC = problem.scores_NC[problem.places_BT[row, : len(alignment)]].tolist()
            log_probs = [scores[word + 1] for scores, word in zip(scores_TC, alignment, strict=True)]
            ids = [self.blank if word < 0 else targets[row][word] for word in alignment]
            found.append(_hypothesis(ids, log_probs, self.blank))
        return found

    def _padded(self, requests: Sequence[Request]) -> Tokens:
        refuse_constraints(requests, self.name)
        return pad([request.source for request in requests], self.special.pad, self.device)

    def _logits(self, hidden_ND: Tensor, settings: OnePassSettings) -> Tensor:
        """Logits [N, V], with suppressed tokens made impossible, except for the blank."""
        impossible = [token for token in settings.suppress_tokens if token != self.blank]
        logits_NV = self.transformer.logits(pad_rows(hidden_ND))[: len(hidden_ND)]
        return logits_NV.index_fill_(1, torch.tensor(impossible, dtype=torch.long, device=self.device), float("-inf"))


def _hypothesis(ids: list[int], log_probs: list[float], blank: int) -> Hypothesis:
    """What the positions say. A word counts as where it is likeliest, the whole as its positions on average."""
    words: list[int] = []
    own: list[float] = []
    for place, (token, log_prob) in enumerate(zip(ids, log_probs, strict=True)):
        if token == blank:
            continue
        if place and token == ids[place - 1]:
            own[-1] = max(own[-1], log_prob)
        else:
            words.append(token)
            own.append(log_prob)
    return Hypothesis(words, own, sum(log_probs) / len(log_probs), passes=1)
