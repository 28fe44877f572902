"""One recorded translation of a CMLM: a CUDA graph with a place for its inputs and one for its results.

What is computed stands in `captured_plain` and, with fewer kernels for few rows, in `captured_fused`. Shape letters: B
sentences, S source positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from maskpredict.decoding.candidates import Finished, likely_count
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.engines.cuda.capture_shape import CaptureShape
from maskpredict.kernels.fixed_drafts import parts_of_results

if TYPE_CHECKING:
    from maskpredict.systems.cmlm import CMLM

WARM_UP = 2
"""Runs before capture, as PyTorch asks for."""

Computation = Callable[[Tensor, Tensor], Tensor]
"""(ids [B, S], their lengths [B]) -> the results of `FixedDrafts`."""
Pool = Any
"""What PyTorch knows a pool of memory by; the type is its own."""


class TooNarrow(Exception):
    """A target of this length is longer than the capture allows for."""

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.length = length


class Capture:
    """What is recorded for one shape. On a CPU, which has no graphs, it is computed each time."""

    def __init__(self, system: CMLM, shape: CaptureShape, computation: Computation, pool: Pool | None = None) -> None:
        self.system, self.shape, self.computation, self.pool = system, shape, computation, pool
        size, on_gpu = shape.sentences * (1 + shape.source_width), system.device.type == "cuda"
        self.given = torch.full((size,), 2, pin_memory=on_gpu)
        """The lengths of all sentences, then their ids: one tensor, so that it is sent at once."""
        self.given_numbers = self.given.numpy()
        """The same memory: NumPy is quicker to take a list."""
        self.inputs = self.given.to(system.device)
        self.found: Tensor | None = None
        """The results of `FixedDrafts`, as they come back. Being sent is part of what is recorded."""
        self.graph: torch.cuda.CUDAGraph | None = None

    @torch.inference_mode()
    def begin(self, inputs: Sequence[int]) -> None:
        """Tell the GPU to translate what `inputs_of` has made of sentences; it need not have finished."""
        self.given_numbers[:] = inputs
        if self.inputs.is_cuda:
            self._replay()
        else:
            self._run()

    def results(self) -> Tensor:
        """Wait for the end: a copy of what was found, so that it can begin again."""
        if self.inputs.is_cuda:
            torch.cuda.current_stream().synchronize()
        assert self.found is not None
        return self.found.clone()

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
        self.inputs.copy_(self.given, non_blocking=True)
        lengths_B, ids = self.inputs.split([self.shape.sentences, self.shape.sentences * self.shape.source_width])
        results = self.computation(ids.view(self.shape.sentences, -1), lengths_B)
        if self.found is None:
            self.found = torch.empty(results.shape, dtype=results.dtype, pin_memory=results.is_cuda)
        self.found.copy_(results, non_blocking=True)


def inputs_of(requests: Sequence[Request], shape: CaptureShape, pad: int) -> list[int]:
    """What a capture of this shape is given for these sentences; missing ones are copies of the last."""
    width = shape.source_width
    sources = [request.source for request in requests]
    sources += [sources[-1]] * (shape.sentences - len(sources))
    rows = ((pad, *ids, *(pad,) * (width - 1 - len(ids))) for ids in sources)
    return [*(1 + len(ids) for ids in sources), *chain(*rows)]


def finished(
    results: Tensor, shape: CaptureShape, sentences: int, settings: MaskPredictSettings
) -> list[list[Finished]]:
    """The candidates of the first so many sentences in a capture's results."""
    parts = parts_of_results(results, shape.rows, shape.target_width)
    count = sentences * shape.candidates
    rows = [_Row(*row) for row in zip(*(part[:count].tolist() for part in parts), strict=True)]
    starts = range(0, count, shape.candidates)
    return [_of_sentence(rows[start : start + shape.candidates], shape.target_width, settings) for start in starts]


class _Row(NamedTuple):
    """A draft as it comes out of a capture, in the order of `parts_of_results`."""

    tokens: list[int]
    log_probs: list[float]
    length_score: float
    length: int
    passes: int
    pruned: int


def _of_sentence(rows: Sequence[_Row], width: int, settings: MaskPredictSettings) -> list[Finished]:
    """The drafts of one sentence that are to be looked at: one of each length, and no unlikely ones too many."""
    own: list[_Row] = []
    for row in rows:
        if all(row.length != other.length for other in own):
            own.append(row)
    likely = likely_count([row.length_score for row in own], settings.length_threshold)
    own = own[: max(likely, settings.num_hypotheses)]
    if (longest := max(row.length for row in own)) > width:
        raise TooNarrow(longest)
    found = []
    for number, row in enumerate(own):
        log_probs = row.log_probs[: row.length]
        score = sum(log_probs) / row.length
        set_aside, ids = bool(row.pruned) or number >= likely, row.tokens[: row.length]
        found.append(Finished(ids, log_probs, score, row.passes, [], set_aside, row.length_score))
    return found
