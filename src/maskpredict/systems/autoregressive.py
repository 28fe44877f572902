"""The standard left-to-right transformer: baseline, teacher of the distilled corpus, and speed rival."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from maskpredict.decoding.beam_search import Beams, Search, beam_search
from maskpredict.decoding.best_tokens import best_tokens, rows_at_once
from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.errors import UserError
from maskpredict.model.batch import Batch, Tokens, pad, round_up
from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Layout, Padded
from maskpredict.model.transformer import Memory, Transformer, suppress
from maskpredict.systems.base import Loss, System, Vocabulary, refuse_constraints
from maskpredict.systems.captured_search import MOST_ROWS, SearchRecordings, Shape, search_kind


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

    @property
    def choices(self) -> int:
        """How many translations of a sentence there are to choose from."""
        return self.beam_size

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

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, label_smoothing: float = 0.1) -> None:
        super().__init__(config, vocabulary, label_smoothing)
        self.recordings = SearchRecordings()

    def loss(self, batch: Batch) -> Loss:
        """Cross-entropy of every target token given those before it."""
        source, target = batch.source, batch.target
        memory = self.transformer.memory(self.transformer.encode(source.ids, source.layout))
        hidden = self._hidden(target, memory, source.layout)
        counted = target.layout.valid.flatten()
        smooth, plain = self.word_loss(hidden.flatten(0, -2), target.ids.flatten(), counted)
        return Loss(smooth, counted.sum(), {"word": plain})

    def _hidden(self, target: Tokens, memory: list[Memory], source: Layout) -> Tensor:
        """Decoder output at each position, having seen the tokens before it."""
        shifted = target.ids.roll(1, -1)
        inputs = torch.where(target.layout.positions == 0, self.special.bos, shifted)
        return self.transformer.decode(inputs, target.layout, memory, source, causal=True)

    def make_room(self) -> None:
        """Forget what was recorded; it can be recorded again."""
        self.recordings.made.clear()

    @torch.inference_mode()
    def translate(self, requests: Sequence[Request], settings: BeamSettings) -> list[list[Hypothesis]]:
        """Beam search."""
        refuse_constraints(requests, self.name)
        # Except in eight bits, the search takes a whole number of eight rows, see model.batch.ROWS; the added sentences
        # are thrown away.
        rows = len(requests) if self.transformer.sentence_by_sentence else round_up(len(requests))
        filled = list(requests) + [requests[-1]] * (rows - len(requests))
        source = pad([request.source for request in filled], self.special.pad, self.device)
        limits = [self._longest_target(len(request.source), settings) for request in filled]
        found = self._search(source, torch.tensor(limits, device=self.device), settings)
        return self._hypotheses(found, settings.num_hypotheses)[: len(requests)]

    def _longest_target(self, source_length: int, settings: BeamSettings) -> int:
        return min(int(settings.max_length_ratio * source_length) + 10, self.config.max_positions)

    def _search(self, source: Tokens, limits_B: Tensor, settings: BeamSettings) -> Beams:
        rows, source_width = source.ids.shape
        suppressed = torch.tensor(settings.suppress_tokens, dtype=torch.long, device=self.device)

        def start(transformer: Transformer, source: Tokens, limits_B: Tensor, width: int) -> Search:
            layout = Padded.of(source.layout.lengths_B, source_width)
            decoder = _Incremental(transformer, Tokens(source.ids, layout), settings.beam_size, suppressed)
            return search_kind(transformer, settings.beam_size)(
                decoder.advance,
                rows,
                width,
                beams=settings.beam_size,
                limits_B=limits_B,
                bos=self.special.bos,
                eos=self.special.eos,
                length_penalty=settings.length_penalty,
            )

        if self.recording and source.ids.is_cuda and rows * settings.beam_size <= MOST_ROWS:
            width = self._longest_target(source_width, settings)
            shape = Shape(rows, source_width, width, settings.beam_size, settings)
            if (found := self.recordings.find(shape, self.transformer, source, limits_B, start)) is not None:
                return found
        return beam_search(start(self.transformer, source, limits_B, int(limits_B.max())))

    def _hypotheses(self, found: Beams, count: int) -> list[list[Hypothesis]]:
        """The best `count` of each sentence, or as many as there are."""
        scores = found.scores_BK[:, :count].tolist()
        tokens = found.tokens_BKT[:, :count].tolist()
        log_probs = found.log_probs_BKT[:, :count].tolist()
        return [
            [self._hypothesis(*one) for one in zip(*sentence, strict=True) if one[0] > -math.inf]
            for sentence in zip(scores, tokens, log_probs, strict=True)
        ]

    def _hypothesis(self, score: float, ids: list[int], log_probs: list[float]) -> Hypothesis:
        length = ids.index(self.special.eos) + 1
        return Hypothesis(ids[:length], log_probs[:length], score, passes=length)

    @torch.inference_mode()
    def score(
        self, requests: Sequence[Request], targets: Sequence[Sequence[int]], settings: BeamSettings
    ) -> list[Hypothesis]:
        """Log-probabilities of the given targets, normalised as beam search does."""
        sources = list(dict.fromkeys(request.source for request in requests))  # several targets may have the same one
        row_of = {source: row for row, source in enumerate(sources)}
        rows_R = torch.tensor([row_of[request.source] for request in requests], device=self.device)
        source = pad(sources, self.special.pad, self.device)
        assert isinstance(source.layout, Padded)
        memory = self.transformer.memory(self.transformer.encode(source.ids, source.layout))
        own_memory = [Memory(layer.keys[rows_R], layer.values[rows_R]) for layer in memory]
        target = pad(targets, self.special.pad, self.device)
        hidden = self._hidden(target, own_memory, source.layout.select(rows_R))
        valid = target.layout.valid
        log_probs = iter(self._log_probs(hidden[valid], target.ids[valid], settings.suppress_tokens).tolist())
        rows = [list(islice(log_probs, len(ids))) for ids in targets]
        return [
            Hypothesis(list(ids), row, sum(row) / len(row) ** settings.length_penalty, passes=1)
            for ids, row in zip(targets, rows, strict=True)
        ]

    def _log_probs(self, hidden_ND: Tensor, ids_N: Tensor, suppressed: Sequence[int]) -> Tensor:
        """Of these ids after these decoder outputs, [N]."""
        at_once = rows_at_once(hidden_ND)
        found = []
        for hidden_RD, ids_R in zip(hidden_ND.split(at_once), ids_N.split(at_once), strict=True):
            logits_RV = suppress(self.transformer.logits(hidden_RD), suppressed)
            norm_R = best_tokens(logits_RV, 1).norm_R
            found.append(logits_RV.gather(1, ids_R[:, None])[:, 0].float() - norm_R)
        return torch.cat(found)


ROOM = 16
"""Positions by which the caches of earlier keys and values grow."""


class _Incremental:
    """The decoder's growing state: earlier keys and values of each beam, and the source's, computed once.

    A beam that continues another one does not copy that one's keys and values: all beams of a sentence lie side by
    side, and `slots_BKT` says in whose place each beam's own past lies, position by position.
    """

    def __init__(self, transformer: Transformer, source: Tokens, beams: int, suppressed: Tensor) -> None:
        self.transformer, self.beams, self.suppressed = transformer, beams, suppressed
        assert isinstance(source.layout, Padded)
        self.source = source.layout
        self.memory = self.transformer.memory_for_steps(self.transformer.encode(source.ids, source.layout))
        self.past = self.transformer.new_past(len(source.ids), beams, ROOM)
        self.own_K = torch.arange(beams, device=source.ids.device)
        self.slots_BKT = torch.full((len(source.ids), beams, ROOM), -1, device=source.ids.device)

    def advance(self, last_R: Tensor, origin_R: Tensor | None, time: int) -> Tensor:
        if origin_R is not None:
            self._follow(origin_R.view(-1, self.beams))
        if time == self.slots_BKT.shape[2]:
            self._grow()
        self.slots_BKT[:, :, time] = self.own_K
        seen_BKTK = self.slots_BKT[:, :, : round_up(time + 1), None] == self.own_K
        ids_BK = last_R.view(-1, self.beams)
        hidden = self.transformer.decode_step(ids_BK, time, self.past, seen_BKTK.flatten(2), self.memory, self.source)
        return self.transformer.logits(hidden.flatten(0, 1)).index_fill_(1, self.suppressed, -math.inf)

    def _follow(self, origin_BK: Tensor) -> None:
        """Let each beam continue another one of its sentence; sentences that are not continued leave."""
        if len(origin_BK) < len(self.slots_BKT):
            stay_B = origin_BK[:, 0] // self.beams
            self.source, self.slots_BKT = self.source.select(stay_B), self.slots_BKT[stay_B]
            self.memory = [Memory(m.keys[stay_B], m.values[stay_B]) for m in self.memory]
            self.past = [past.select(stay_B) for past in self.past]
        from_BK1 = (origin_BK % self.beams)[:, :, None]
        self.slots_BKT = self.slots_BKT.gather(1, from_BK1.expand_as(self.slots_BKT))

    def _grow(self) -> None:
        """Make room for later positions: in steps, so that short translations stay cheap."""
        self.slots_BKT = F.pad(self.slots_BKT, (0, ROOM), value=-1)
        for past in self.past:
            past.grow(ROOM)
