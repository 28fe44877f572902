"""Whole translations as captured CUDA graphs: encoder, length candidates and every pass in a single launch.

Launching a small batch's kernels takes far longer than running them. So the graph has a fixed target width, the lengths
are data, and nothing waits for the host in between. The host does not wait for the GPU until it needs the results,
which are those of the uncaptured path within rounding. `capture.py` has a single capture.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from maskpredict.decoding.candidates import CompletedDraft
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.engines.cuda.capture import Capture, Computation, Pool, TargetTooLong, capture_inputs, finished
from maskpredict.engines.cuda.capture_shape import CAPTURE_AT_ONCE_POSITIONS, CaptureShape, best_sentence_count
from maskpredict.engines.cuda.draft_step_check import matches_reference
from maskpredict.engines.cuda.draft_step_reference import DraftOps
from maskpredict.engines.cuda.fused_computation import FusedComputation, suits
from maskpredict.engines.cuda.fused_transformer import FusedTransformer
from maskpredict.engines.cuda.plain_computation import PlainComputation
from maskpredict.engines.cuda.selfcheck import USE_FUSED_KERNELS, verified_fused, warn_unfused
from maskpredict.systems.base import System
from maskpredict.systems.cmlm import CMLM

MAX_CAPTURES = 256
"""Size of the cache of captures; the least recently used is dropped."""

Candidates = list[list[CompletedDraft]]
"""Finished candidates of each sentence."""


class Captures(ABC):
    """Cache of the captures of one model; subclasses say what is captured."""

    def __init__(self, system: System, *, fusing: bool = USE_FUSED_KERNELS) -> None:
        self.system = system
        self.fusing = fusing
        """True while fused kernels may be used; False after they failed."""
        self.fused: FusedTransformer | None = None
        self.made: dict[CaptureShape, Capture | None] = {}
        """Captures by shape, the least recently used first; None for a shape used once and not captured."""
        self.pool: Pool | None = None
        """Memory pool of intermediate results. All captures share it, since one runs at a time."""
        self.running: RunningCapture | None = None
        """The capture that was replayed last."""
        self.in_use = threading.Lock()
        """Threads may share a model, but a capture has a single input buffer."""

    @abstractmethod
    def shape_of(self, requests: Sequence[Request], settings: Any) -> CaptureShape | None:
        """Return the shape for these requests; None if they must be decoded pass by pass."""

    @abstractmethod
    def batch_limit(self, width: int, settings: Any) -> int | None:
        """As in `Engine`."""

    @abstractmethod
    def plain_computation(self, shape: CaptureShape) -> Computation:
        """Return what is captured, in PyTorch operations."""

    @abstractmethod
    def fused_computation(self, transformer: FusedTransformer, ops: DraftOps, shape: CaptureShape) -> Computation:
        """Return the same in fused kernels."""

    @abstractmethod
    def finished(self, results: Tensor, shape: CaptureShape, sentences: int, settings: Any) -> Candidates:
        """Return the candidates of the first `sentences` sentences in a capture's results."""

    def start(self, requests: Sequence[Request], settings: Any) -> Callable[[], Candidates | None] | None:
        """Start a translation, and return a function that waits for its candidates.

        None if the batch must be decoded pass by pass; so does the function if a target turns out too long.
        """
        shape = self.shape_of(requests, settings)
        running = self._begin(shape, requests)
        return None if running is None else partial(self._finish, running, requests, settings)

    def _finish(self, running: RunningCapture | None, requests: Sequence[Request], settings: Any) -> Candidates | None:
        while running is not None:
            with self.in_use:
                results = running.results()
            try:
                return self.finished(results, running.shape, len(requests), settings)
            except TargetTooLong as error:
                wider = running.shape.widened(error.length, self.system.config.max_positions)
                running = self._begin(wider, requests)
        return None

    def _begin(self, shape: CaptureShape | None, requests: Sequence[Request]) -> RunningCapture | None:
        if shape is None:
            return None
        inputs = capture_inputs(requests, shape, self.system.special.pad)
        with self.in_use:
            if shape.positions > CAPTURE_AT_ONCE_POSITIONS and shape not in self.made:
                self._keep(shape, None)
                return None
            if self.running is not None:
                self.running.results()  # before the next replay overwrites its buffer
                self.running = None
            capture = self.made.get(shape) or self._new_capture(shape, inputs)
            self._keep(shape, capture)
            capture.begin(inputs)
            self.running = RunningCapture(capture)
            return self.running

    def _new_capture(self, shape: CaptureShape, inputs: list[int]) -> Capture:
        if (fused := self._new_fused(shape)) is not None:
            try:
                return self._run_capture(shape, fused, inputs)
            except torch.OutOfMemoryError:
                raise
            except Exception as error:  # a kernel does not compile for this shape; none is tried for another shape
                warn_unfused(error)
                self.fusing = False
        return self._run_capture(shape, self.plain_computation(shape), inputs)

    def _run_capture(self, shape: CaptureShape, computation: Computation, inputs: list[int]) -> Capture:
        """Return a capture that has run once without an error."""
        if self.pool is None and self.system.device.type == "cuda":
            self.pool = torch.cuda.graph_pool_handle()
        capture = Capture(self.system, shape, computation, self.pool)
        capture.begin(inputs)
        capture.results()
        return capture

    def _keep(self, shape: CaptureShape, capture: Capture | None) -> None:
        """Mark a shape as most recently used, and drop the least recently used one if the cache is full."""
        self.made.pop(shape, None)
        if len(self.made) >= MAX_CAPTURES:
            self.made.pop(next(iter(self.made)))
        self.made[shape] = capture

    def _new_fused(self, shape: CaptureShape) -> Computation | None:
        if not (self.fusing and suits(shape)):
            return None
        if self.fused is None:
            self.fused = self._verified_fused()
        if self.fused is None:
            self.fusing = False
            return None
        from maskpredict.kernels import draft_step

        return self.fused_computation(self.fused, draft_step, shape)

    def _verified_fused(self) -> FusedTransformer | None:
        """Return the transformer with fused kernels, or None if they or those between passes fail the self-check."""
        fused = verified_fused(self.system.transformer)
        if fused is None:
            return None
        from maskpredict.kernels import draft_step

        try:
            if matches_reference(draft_step, self.system.device):
                return fused
            warn_unfused("they mask other positions than PyTorch does.")
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # as in `verified_fused`
            warn_unfused(error)
        return None


class CMLMCaptures(Captures):
    """Length candidates, and mask-predict over them."""

    system: CMLM

    def shape_of(self, requests: Sequence[Request], settings: MaskPredictSettings) -> CaptureShape | None:
        """As in `Captures`."""
        return CaptureShape.of(requests, settings, self.system.config.max_positions)

    def batch_limit(self, width: int, settings: Any) -> int | None:
        """As in `Captures`."""
        return best_sentence_count(width, settings) if isinstance(settings, MaskPredictSettings) else None

    def plain_computation(self, shape: CaptureShape) -> Computation:
        """As in `Captures`."""
        return PlainComputation(self.system, shape)

    def fused_computation(self, transformer: FusedTransformer, ops: DraftOps, shape: CaptureShape) -> Computation:
        """As in `Captures`."""
        return FusedComputation(self.system, transformer, ops, shape)

    def finished(
        self, results: Tensor, shape: CaptureShape, sentences: int, settings: MaskPredictSettings
    ) -> Candidates:
        """As in `Captures`."""
        return finished(results, shape, sentences, settings)


class RunningCapture:
    """A replay whose results have not been read yet."""

    def __init__(self, capture: Capture) -> None:
        self.shape = capture.shape
        self._capture: Capture | None = capture
        self._results = torch.empty(0)

    def results(self) -> Tensor:
        """Return the results of `FixedDrafts`. Call it before the capture is replayed again."""
        if self._capture is not None:
            self._results, self._capture = self._capture.results(), None
        return self._results
