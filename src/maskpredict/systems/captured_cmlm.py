"""A CMLM's whole translation as one recorded CUDA graph: encoder, length candidates and every pass in a single launch.

A small batch costs a GPU far less to compute than to be told what to do. So everything happens at a fixed target width
with the lengths as data, and nothing waits for the host in between. What is computed stands in `captured_plain` and,
with fewer kernels for few rows, in `captured_fused`; the result is that of the plain path within rounding. Shape
letters: B sentences, L candidates, W positions, R = B * L drafts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from maskpredict.decoding.candidates import Finished, likely_count
from maskpredict.decoding.fixed_drafts import parts_of_results
from maskpredict.decoding.fixed_drafts_check import comes_to_the_same
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.model.fused_transformer import FusedTransformer
from maskpredict.model.fused_view import FUSING, fused_view, give_up
from maskpredict.systems import captured_fused
from maskpredict.systems.captured_fused import FusedComputation
from maskpredict.systems.captured_plain import PlainComputation
from maskpredict.systems.captured_shape import AT_FIRST_SIGHT, Shape

if TYPE_CHECKING:
    from maskpredict.systems.cmlm import CMLM

MOST_RECORDINGS = 256
"""Each takes some memory; beyond that the one that was not needed for longest goes."""
WARM_UP = 2
"""Runs before recording, as PyTorch asks for."""

Computation = Callable[[Tensor, Tensor], Tensor]
"""(ids [B, S], their lengths [B]) -> the results of `FixedDrafts`."""
Pool = Any
"""What PyTorch knows a pool of memory by; the type is its own."""


class TooNarrow(Exception):
    """A target of this length is longer than the recording allows for."""

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.length = length


class Recordings:
    """The recordings of one model, made when they are first needed."""

    def __init__(self, system: CMLM, *, fusing: bool = FUSING) -> None:
        self.system = system
        self.fusing = fusing
        """Whether fused kernels are still to be used where they can be: they are given up where they fail."""
        self.fused: FusedTransformer | None = None
        self.made: dict[Shape, Recording | None] = {}
        """In the order in which they were last needed; None for a shape that was seen once and not recorded."""
        self.pool: Pool | None = None
        """Room for what is computed on the way. All recordings share it, since one runs at a time."""
        self.in_use = threading.Lock()
        """Threads may share a model, but a recording has one place for its inputs."""

    def translate(self, requests: Sequence[Request], settings: MaskPredictSettings) -> list[list[Finished]] | None:
        """Each sentence's finished candidates; None when the plain path has to do it."""
        longest = self.system.config.max_positions
        shape = Shape.of(requests, settings, longest)
        with self.in_use:
            while shape is not None:
                if shape.positions > AT_FIRST_SIGHT and shape not in self.made:
                    self._keep(shape, None)
                    return None
                try:
                    return self._translate(shape, requests, settings)
                except TooNarrow as error:
                    shape = shape.widened(error.length, longest)
        return None

    def _translate(
        self, shape: Shape, requests: Sequence[Request], settings: MaskPredictSettings
    ) -> list[list[Finished]]:
        if (recording := self.made.get(shape)) is not None:
            self._keep(shape, recording)
            return recording.translate(requests, settings)
        if (fused := self._fused(shape)) is not None:
            try:
                return self._record(shape, fused, requests, settings)
            except (torch.OutOfMemoryError, TooNarrow):
                raise
            except Exception as error:  # a kernel that cannot be compiled for this shape; no other one is tried
                give_up(error)
                self.fusing = False
        return self._record(shape, PlainComputation(self.system, shape), requests, settings)

    def _record(
        self, shape: Shape, computation: Computation, requests: Sequence[Request], settings: MaskPredictSettings
    ) -> list[list[Finished]]:
        if self.pool is None and self.system.device.type == "cuda":
            self.pool = torch.cuda.graph_pool_handle()
        recording = Recording(self.system, shape, computation, self.pool)
        recording.run(requests)  # one that fails is not kept
        self._keep(shape, recording)
        return recording.translate(requests, settings)

    def _keep(self, shape: Shape, recording: Recording | None) -> None:
        """Note that this was needed now, and forget what was not needed for longest."""
        self.made.pop(shape, None)
        if len(self.made) >= MOST_RECORDINGS:
            self.made.pop(next(iter(self.made)))
        self.made[shape] = recording

    def _fused(self, shape: Shape) -> Computation | None:
        if not (self.fusing and captured_fused.suits(shape)):
            return None
        if self.fused is None:
            self.fused = self._proven()
        if self.fused is None:
            self.fusing = False
            return None
        from maskpredict.decoding import gpu_fixed_drafts

        return FusedComputation(self.system, self.fused, gpu_fixed_drafts, shape)

    def _proven(self) -> FusedTransformer | None:
        """The model with fused kernels, if all of them do what they should."""
        fused = fused_view(self.system.transformer)
        if fused is None:
            return None
        from maskpredict.decoding import gpu_fixed_drafts

        try:
            if comes_to_the_same(gpu_fixed_drafts, self.system.device):
                return fused
            give_up("what they mask is something else.")
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # as in `fused_view`
            give_up(error)
        return None


class Recording:
    """One recorded translation."""

    def __init__(self, system: CMLM, shape: Shape, computation: Computation, pool: Pool | None = None) -> None:
        self.system, self.shape, self.computation, self.pool = system, shape, computation, pool
        size, on_gpu = shape.sentences * (1 + shape.source_width), system.device.type == "cuda"
        self.given = torch.full((size,), 2, pin_memory=on_gpu)
        """The lengths of all sentences, then their ids: one tensor, so that it is sent at once."""
        self.given_numbers = self.given.numpy()
        """The same memory: NumPy is quicker to take a list."""
        self.inputs = self.given.to(system.device)
        self.found: Tensor | None = None
        """The results of `FixedDrafts`, as they come back. Being sent is part of what is recorded."""
        self.parts: list[Tensor] = []
        """What they consist of."""
        self.graph: torch.cuda.CUDAGraph | None = None

    def translate(self, requests: Sequence[Request], settings: MaskPredictSettings) -> list[list[Finished]]:
        """Each sentence's finished candidates."""
        shape = self.shape
        self.run(requests)
        rows = [Row(*row) for row in zip(*(part.tolist() for part in self.parts), strict=True)]
        starts = range(0, len(requests) * shape.candidates, shape.candidates)
        return [_finished(rows[start : start + shape.candidates], shape.target_width, settings) for start in starts]

    @torch.inference_mode()
    def run(self, requests: Sequence[Request]) -> None:
        """Find the results of `FixedDrafts`, which stay until it runs again."""
        self.given_numbers[:] = self._filled_in(requests)
        if self.inputs.is_cuda:
            self._replay()
            torch.cuda.current_stream().synchronize()
        else:
            self._run()

    def _filled_in(self, requests: Sequence[Request]) -> list[int]:
        """The inputs at the recording's shape; missing sentences are copies of the last."""
        pad, width = self.system.special.pad, self.shape.source_width
        sources = [request.source for request in requests]
        sources += [sources[-1]] * (self.shape.sentences - len(sources))
        rows = ((pad, *ids, *(pad,) * (width - 1 - len(ids))) for ids in sources)
        return [*(1 + len(ids) for ids in sources), *chain(*rows)]

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
            self.parts = parts_of_results(self.found, self.shape.rows, self.shape.target_width)
        self.found.copy_(results, non_blocking=True)


class Row(NamedTuple):
    """A draft as it comes out of a recording, in the order of `parts_of_results`."""

    tokens: list[int]
    log_probs: list[float]
    length_score: float
    length: int
    passes: int
    pruned: int


def _finished(rows: Sequence[Row], width: int, settings: MaskPredictSettings) -> list[Finished]:
    """The drafts of one sentence that are to be looked at: one of each length, and no unlikely ones too many."""
    own: list[Row] = []
    for row in rows:
        if all(row.length != other.length for other in own):
            own.append(row)
    likely = likely_count([row.length_score for row in own], settings.length_threshold)
    own = own[: max(likely, settings.num_hypotheses)]
    if (longest := max(row.length for row in own)) > width:
        raise TooNarrow(longest)
    finished = []
    for number, row in enumerate(own):
        log_probs = row.log_probs[: row.length]
        score = sum(log_probs) / row.length
        set_aside, ids = bool(row.pruned) or number >= likely, row.tokens[: row.length]
        finished.append(Finished(ids, log_probs, score, row.passes, [], set_aside, row.length_score))
    return finished
