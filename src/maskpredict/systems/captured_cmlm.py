"""A CMLM's whole translation as one recorded CUDA graph: encoder, length candidates and every pass in a single launch.

A small batch costs a GPU far less to compute than to be told what to do. So everything happens at a fixed target width
with the lengths as data, and nothing waits for the host in between. The result is that of the plain path within
rounding. Shape letters: B sentences, L candidates, W positions, R = B * L drafts, V vocabulary.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from maskpredict.decoding.best_tokens import best_tokens
from maskpredict.decoding.candidates import SHORTEST, Finished
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.mask_predict import mask_predict
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.model.batch import Tokens, pad, round_up
from maskpredict.model.layout import Padded
from maskpredict.model.transformer import Memory

if TYPE_CHECKING:
    from maskpredict.systems.cmlm import CMLM

MOST_POSITIONS = 8_192
"""Target positions beyond which a batch is large enough to keep a GPU busy without a recording."""
MOST_RECORDINGS = 64
"""Each takes some memory; beyond that the oldest goes."""
WARM_UP = 2
"""Runs before recording, as PyTorch asks for."""


@dataclass(frozen=True)
class Shape:
    """What a recording is made for."""

    sentences: int
    source_width: int
    target_width: int
    candidates: int
    iterations: int
    suppressed: tuple[int, ...]

    @classmethod
    def of(cls, requests: Sequence[Request], settings: MaskPredictSettings, max_positions: int) -> Shape | None:
        """The shape for these requests, if a recording suits them: plain ones, and not too many."""
        plain = settings.strategy == "mask_predict" and not (settings.trace or settings.stop_when_stable)
        if not plain or settings.iterations == "N" or settings.threshold or settings.prune_candidates:
            return None
        if any(request.pins or request.template or request.length for request in requests):
            return None
        source_width = round_up(1 + max(len(request.source) for request in requests))
        target_width = min(round_up(max(source_width + 16, source_width * 3 // 2)), max_positions // 8 * 8)
        sentences = 1 << (len(requests) - 1).bit_length()
        if sentences * settings.length_candidates * target_width > MOST_POSITIONS:
            return None
        return cls(
            sentences,
            source_width,
            target_width,
            settings.length_candidates,
            settings.iterations,
            settings.suppress_tokens,
        )


class Recordings:
    """The recordings of one model, made when they are first needed."""

    def __init__(self, system: CMLM) -> None:
        self.system = system
        self.made: dict[Shape, Recording] = {}
        self.in_use = threading.Lock()
        """Threads may share a model, but a recording has one place for its inputs."""

    def translate(self, requests: Sequence[Request], settings: MaskPredictSettings) -> list[list[Finished]] | None:
        """Each sentence's finished candidates; None when the plain path has to do it."""
        shape = Shape.of(requests, settings, self.system.config.max_positions)
        if shape is None:
            return None
        with self.in_use:
            if shape not in self.made:
                self.made[shape] = Recording(self.system, shape)
                if len(self.made) > MOST_RECORDINGS:
                    self.made.pop(next(iter(self.made)))
            return self.made[shape].translate(requests)


class Recording:
    """One recorded translation."""

    def __init__(self, system: CMLM, shape: Shape) -> None:
        self.system, self.shape = system, shape
        self.ids_BS = torch.zeros((shape.sentences, shape.source_width), dtype=torch.long, device=system.device)
        self.lengths_B = torch.full((shape.sentences,), 2, device=system.device)
        self.suppressed = torch.tensor(shape.suppressed, dtype=torch.long, device=system.device)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.found: tuple[Tensor, Tensor, Tensor] | None = None

    @torch.inference_mode()
    def translate(self, requests: Sequence[Request]) -> list[list[Finished]] | None:
        """Each sentence's finished candidates; None when a target is longer than the recording allows for."""
        source = self._fill_in(requests)
        self.ids_BS.copy_(source.ids, non_blocking=True)
        self.lengths_B.copy_(source.layout.lengths_B, non_blocking=True)
        if self.ids_BS.is_cuda:
            self._replay()
        else:
            self.found = self._run()
        assert self.found is not None
        tokens_BLW, log_probs_BLW, lengths_BL = (part.tolist() for part in self.found)
        if max(map(max, lengths_BL)) > self.shape.target_width:
            return None
        finished = [self._finished(*sentence) for sentence in zip(tokens_BLW, log_probs_BLW, lengths_BL, strict=True)]
        return finished[: len(requests)]

    def _fill_in(self, requests: Sequence[Request]) -> Tokens:
        """The sources at the recording's shape; what is missing is filled with copies of the last."""
        sources = [request.source for request in requests]
        sources += [sources[-1]] * (self.shape.sentences - len(sources))
        return pad(sources, self.system.special.pad, torch.device("cpu"), slot=True)

    def _finished(
        self, tokens_LW: list[list[int]], log_probs_LW: list[list[float]], lengths_L: list[int]
    ) -> list[Finished]:
        first_of_length = {length: row for row, length in reversed(list(enumerate(lengths_L)))}
        rows = sorted(first_of_length.values())
        return [
            Finished(
                tokens_LW[row][: lengths_L[row]],
                log_probs_LW[row][: lengths_L[row]],
                sum(log_probs_LW[row][: lengths_L[row]]) / lengths_L[row],
                self.shape.iterations,
                [],
            )
            for row in rows
        ]

    def _replay(self) -> None:
        if self.graph is None:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(WARM_UP):
                    self._run()
            torch.cuda.current_stream().wait_stream(stream)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
                self.found = self._run()
        self.graph.replay()

    def _run(self) -> tuple[Tensor, Tensor, Tensor]:
        """Tokens [B, L, W], log-probabilities [B, L, W] and target lengths [B, L]."""
        shape, special, transformer = self.shape, self.system.special, self.system.transformer
        layout = Padded.of(self.lengths_B, shape.source_width)
        encoded, length_log_probs, source = self.system.encode_tokens(Tokens(self.ids_BS, layout))
        assert isinstance(source, Padded)
        order = length_log_probs.sort(dim=1, descending=True, stable=True).indices
        lengths_BL = order[:, : shape.candidates].clamp(SHORTEST, self.system.config.max_positions - 1)

        target = Padded.of(lengths_BL.flatten(), shape.target_width)
        memory = [_repeated(own, shape.candidates) for own in transformer.memory(encoded)]
        sources = source.repeat(shape.candidates)

        def predict(inputs_RW: Tensor, masked_RW: Tensor) -> tuple[Tensor, Tensor]:
            hidden = transformer.decode(inputs_RW, target, memory, sources, causal=False)
            logits = transformer.output(hidden.flatten(0, 1)).index_fill_(1, self.suppressed, float("-inf"))
            best = best_tokens(logits, 1)
            return best.tokens_RC.view_as(inputs_RW), best.log_probs_RC.view_as(inputs_RW)

        free_RW = target.valid
        draft_RW = torch.full(free_RW.shape, special.pad, device=free_RW.device).masked_fill(free_RW, special.mask)
        passes_R = torch.full_like(target.lengths_B, shape.iterations)
        found = mask_predict(predict, draft_RW, free_RW, passes_R, special.mask, rounds=shape.iterations)
        per_sentence = (shape.sentences, shape.candidates, shape.target_width)
        return found.tokens_BT.view(per_sentence), found.log_probs_BT.view(per_sentence), lengths_BL


def _repeated(memory: Memory, times: int) -> Memory:
    """Every sentence's memory once for each of its candidates."""
    if times == 1:
        return memory
    return Memory(memory.keys.repeat_interleave(times, 0), memory.values.repeat_interleave(times, 0))
