"""One captured translation: a CUDA graph with buffers for its inputs and results.

`plain_computation.py` and, for few rows, `fused_computation.py` define what is computed. Shape letters: B sentences, S
source positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import torch
from torch import Tensor

from maskpredict.decoding.candidates import CompletedDraft, likely_count
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.engines.cuda.capture_shape import CaptureShape
from maskpredict.kernels.fixed_drafts import split_results
from maskpredict.systems.base import System

WARM_UP = 2
"""Runs before the capture, as PyTorch requires."""

Computation = Callable[[Tensor, Tensor], Tensor]
"""(ids [B, S], their lengths [B]) -> the results of `FixedDrafts`."""
Pool = Any
"""PyTorch's handle of a CUDA graph memory pool."""


class TargetTooLong(Exception):
    """A target is longer than the capture's width."""

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.length = length


class Capture:
    """The captured graph of one shape. A CPU has no graphs, and runs the computation each time."""

    def __init__(self, system: System, shape: CaptureShape, computation: Computation, pool: Pool | None = None) -> None:
        self.system, self.shape, self.computation, self.pool = system, shape, computation, pool
        size, on_gpu = shape.sentences * (1 + shape.source_width), system.device.type == "cuda"
        self.host_inputs = torch.full((size,), 2, pin_memory=on_gpu)
        """The lengths of all sentences, then their ids: one tensor, for a single copy to the GPU."""
        self.host_inputs_array = self.host_inputs.numpy()
        """The same memory: NumPy is faster at taking a list."""
        self.inputs = self.host_inputs.to(system.device)
        self.host_results: Tensor | None = None
        """The results of `FixedDrafts` on the host. The copy is part of the graph."""
        self.graph: torch.cuda.CUDAGraph | None = None

    @torch.inference_mode()
    def begin(self, inputs: Sequence[int]) -> None:
        """Start to translate the `capture_inputs` of sentences, without waiting for the GPU."""
        self.host_inputs_array[:] = inputs
        if self.inputs.is_cuda:
            self._replay()
        else:
            self._run()

    def results(self) -> Tensor:
        """Wait for the GPU, and return a copy of the results."""
        if self.inputs.is_cuda:
            torch.cuda.current_stream().synchronize()
        assert self.host_results is not None
        return self.host_results.clone()

    def _replay(self) -> None:
        if self.graph is None:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(WARM_UP):
                    self._run()
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
                self._run()
            self.graph = graph
        self.graph.replay()

    def _run(self) -> None:
        self.inputs.copy_(self.host_inputs, non_blocking=True)
        lengths_B, ids = self.inputs.split([self.shape.sentences, self.shape.sentences * self.shape.source_width])
        results = self.computation(ids.view(self.shape.sentences, -1), lengths_B)
        if self.host_results is None:
            self.host_results = torch.empty(results.shape, dtype=results.dtype, pin_memory=results.is_cuda)
        self.host_results.copy_(results, non_blocking=True)


def capture_inputs(requests: Sequence[Request], shape: CaptureShape, pad: int) -> list[int]:
    """Return the flat inputs of a capture: lengths, then padded ids; missing sentences are copies of the last."""
    width, front = shape.source_width, (pad,) * shape.slot
    sources = [request.source for request in requests]
    sources += [sources[-1]] * (shape.sentences - len(sources))
    rows = ((*front, *ids, *(pad,) * (width - len(front) - len(ids))) for ids in sources)
    return [*(len(front) + len(ids) for ids in sources), *chain(*rows)]


def finished(
    results: Tensor, shape: CaptureShape, sentences: int, settings: MaskPredictSettings
) -> list[list[CompletedDraft]]:
    """Return the candidates of the first `sentences` sentences in a capture's results."""
    count = sentences * shape.candidates
    rows = _rows(results, shape, count)
    starts = range(0, count, shape.candidates)
    return [_candidates(rows[start : start + shape.candidates], shape.target_width, settings) for start in starts]


def finished_alignments(results: Tensor, shape: CaptureShape, sentences: int) -> list[list[CompletedDraft]]:
    """Return the only candidate of each of the first `sentences` sentences."""
    rows = _rows(results, shape, sentences)
    return [[_finished(row, ranks_last=False)] for row in rows]


class _Row(NamedTuple):
    """A draft in a capture's results, its fields in the order of `split_results`."""

    tokens: list[int]
    log_probs: list[float]
    length_score: float
    length: int
    passes: int
    pruned: int


def _rows(results: Tensor, shape: CaptureShape, count: int) -> list[_Row]:
    parts = split_results(results, shape.rows, shape.target_width)
    return [_Row(*row) for row in zip(*(part[:count].tolist() for part in parts), strict=True)]


def _finished(row: _Row, *, ranks_last: bool) -> CompletedDraft:
    log_probs = row.log_probs[: row.length]
    ids, score = row.tokens[: row.length], sum(log_probs) / row.length
    return CompletedDraft(ids, log_probs, score, row.passes, [], ranks_last, row.length_score)


def _candidates(rows: Sequence[_Row], width: int, settings: MaskPredictSettings) -> list[CompletedDraft]:
    """Return the candidates of one sentence: one of each length, and unlikely lengths only where needed."""
    distinct: list[_Row] = []
    for row in rows:
        if all(row.length != other.length for other in distinct):
            distinct.append(row)
    likely = likely_count([row.length_score for row in distinct], settings.length_threshold)
    tried = distinct[: max(likely, settings.num_hypotheses)]
    if (longest := max(row.length for row in tried)) > width:
        raise TargetTooLong(longest)
    return [_finished(row, ranks_last=bool(row.pruned) or number >= likely) for number, row in enumerate(tried)]
