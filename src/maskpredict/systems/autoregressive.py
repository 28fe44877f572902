"""The standard left-to-right transformer: baseline, teacher of the distilled corpus, and speed rival."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from maskpredict.decoding.beam_search import Beams, beam_search
from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.errors import UserError
from maskpredict.model.batch import Batch, Tokens, pad, round_up
from maskpredict.model.layout import Padded
from maskpredict.model.transformer import Memory, Past, suppress
from maskpredict.systems.base import Loss, System


@dataclass(frozen=True)
class BeamSettings:
    """How an autoregressive model translates."""

    beam_size: int = 5
    """Hypotheses kept at each step; 1 is greedy."""
    length_penalty: float = 1.0
    """Scores are divided by length to this power: higher favours longer translations."""
    max_length_ratio: float = 2.0
    """Longest translation, as a multiple of the source's length (ten subwords are added to it)."""
    num_hypotheses: int = 1
    """How many translations to return for each sentence, best first."""
    suppress_tokens: tuple[int, ...] = ()
    """Ids that are never produced."""

    def __post_init__(self) -> None:
        if self.beam_size < 1:
            raise UserError(f"beam_size is {self.beam_size}; use 1 (greedy) or more.")
        if not 1 <= self.num_hypotheses <= self.beam_size:
            raise UserError(
                f"num_hypotheses is {self.num_hypotheses}; it must be between 1 and beam_size ({self.beam_size})."
            )


class Autoregressive(System):
    """P(target | source) as a product over positions, each conditioned on all earlier ones."""

    name: ClassVar[str] = "autoregressive"
    settings_type: ClassVar[type] = BeamSettings
    loss_parts: ClassVar[tuple[str, ...]] = ("word",)

    def loss(self, batch: Batch) -> Loss:
        """Cross-entropy of every target token given those before it."""
        target = batch.target
        hidden = self._hidden(batch.source, target)
        counted = target.layout.valid.flatten()
        smooth, plain = self.word_loss(hidden.flatten(0, -2), target.ids.flatten(), counted)
        return Loss(smooth, counted.sum(), {"word": plain})

    def _hidden(self, source: Tokens, target: Tokens) -> Tensor:
        """Decoder output at each position, having seen the tokens before it."""
        shifted = target.ids.roll(1, -1)
        inputs = torch.where(target.layout.positions == 0, self.special.bos, shifted)
        memory = self.transformer.memory(self.transformer.encode(source.ids, source.layout))
        return self.transformer.decode(inputs, target.layout, memory, source.layout, causal=True)

    @torch.inference_mode()
    def translate(self, requests: Sequence[Request], settings: BeamSettings) -> list[list[Hypothesis]]:
        """Beam search."""
        if any(request.pins or request.template or request.length for request in requests):
            raise UserError("an autoregressive model cannot pin words, fill gaps or keep to a length; use a CMLM.")
        beams, longest = settings.beam_size, self.config.max_positions
        # The search runs a whole number of eight rows, see model.batch.ROWS; the added sentences are thrown away.
        filled = list(requests) + [requests[-1]] * (round_up(len(requests)) - len(requests))
        source = pad([request.source for request in filled], self.special.pad, self.device)
        decoder = _Incremental(self, source, beams, settings)
        limits = [min(int(settings.max_length_ratio * len(r.source)) + 10, longest) for r in filled]
        found = beam_search(
            decoder.advance,
            len(filled),
            beams=beams,
            limits_B=torch.tensor(limits, device=self.device),
            bos=self.special.bos,
            eos=self.special.eos,
            length_penalty=settings.length_penalty,
        )
        return [self._hypotheses(found, row, settings.num_hypotheses) for row in range(len(requests))]

    def _hypotheses(self, found: Beams, row: int, count: int) -> list[Hypothesis]:
        hypotheses = []
        for beam in range(count):
            score = float(found.scores_BK[row, beam])
            if score == float("-inf"):
                break
            ids = found.tokens_BKT[row, beam].tolist()
            length = ids.index(self.special.eos) + 1
            log_probs = found.log_probs_BKT[row, beam, :length].tolist()
            hypotheses.append(Hypothesis(ids[:length], log_probs, score, passes=length))
        return hypotheses

    @torch.inference_mode()
    def score(
        self, requests: Sequence[Request], targets: Sequence[Sequence[int]], settings: BeamSettings
    ) -> list[Hypothesis]:
        """Log-probabilities of the given targets, normalised as beam search does."""
        source = pad([request.source for request in requests], self.special.pad, self.device)
        target = pad(targets, self.special.pad, self.device)
        logits_BTV = suppress(self.transformer.output(self._hidden(source, target)).float(), settings.suppress_tokens)
        chosen_BT = logits_BTV.log_softmax(-1).gather(-1, target.ids[..., None])[..., 0]
        rows = [chosen[: len(ids)].tolist() for chosen, ids in zip(chosen_BT, targets, strict=True)]
        return [
            Hypothesis(list(ids), row, sum(row) / len(row) ** settings.length_penalty, passes=1)
            for ids, row in zip(targets, rows, strict=True)
        ]


GROWTH = 32
"""Positions by which the caches of earlier keys and values grow."""


class _Incremental:
    """The decoder's growing state: earlier keys and values of each beam, and the source's, computed once."""

    def __init__(self, system: Autoregressive, source: Tokens, beams: int, settings: BeamSettings) -> None:
        self.system, self.settings = system, settings
        assert isinstance(source.layout, Padded)
        encoded = system.transformer.encode(source.ids, source.layout)
        self.source = source.layout.repeat(beams)
        self.memory = [
            Memory(m.keys.repeat_interleave(beams, 0), m.values.repeat_interleave(beams, 0))
            for m in system.transformer.memory(encoded)
        ]
        self.past: list[Past] = []

    def advance(self, last_R: Tensor, origin_R: Tensor, time: int) -> Tensor:
        transformer = self.system.transformer
        if time % GROWTH == 0:  # grow the caches in steps, so that short translations stay cheap
            self._grow(len(last_R), time + GROWTH)
        for past in self.past:
            past.keys[:, :time] = past.keys[origin_R, :time]
            past.values[:, :time] = past.values[origin_R, :time]
        hidden_RD = transformer.decode_step(last_R, time, self.past, self.memory, self.source)
        logits_RV = transformer.output(hidden_RD).float()
        return suppress(logits_RV, self.settings.suppress_tokens).log_softmax(-1)

    def _grow(self, rows: int, width: int) -> None:
        larger = self.system.transformer.new_past(rows, width)
        for old, new in zip(self.past, larger, strict=False):  # there is nothing old at the first step
            new.keys[:, : old.keys.shape[1]] = old.keys
            new.values[:, : old.values.shape[1]] = old.values
        self.past = larger
