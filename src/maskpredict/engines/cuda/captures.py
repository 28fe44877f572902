"""A CMLM's whole translation as one recorded CUDA graph: encoder, length candidates and every pass in a single launch.

A batch costs a GPU far less to compute than to be told what to do. So everything happens at a fixed target width with
the lengths as data, and nothing waits for the host in between. Nor does the host wait for the GPU before it asks for
the results, which are those of the plain path within rounding. `capture` is one capture.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from maskpredict.decoding.candidates import Finished
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.engines.cuda import fused_computation as captured_fused
from maskpredict.engines.cuda.capture import Capture, Computation, Pool, TooNarrow, finished, inputs_of
from maskpredict.engines.cuda.capture_shape import AT_FIRST_SIGHT, CaptureShape
from maskpredict.engines.cuda.draft_step_check import comes_to_the_same
from maskpredict.engines.cuda.fused_computation import FusedComputation
from maskpredict.engines.cuda.fused_transformer import FusedTransformer
from maskpredict.engines.cuda.plain_computation import PlainComputation
from maskpredict.engines.cuda.selfcheck import FUSING, fused_view, give_up

if TYPE_CHECKING:
    from maskpredict.systems.cmlm import CMLM

MAX_CAPTURES = 256
"""Each takes some memory; beyond that the one that was not needed for longest goes."""

Candidates = list[list[Finished]]
"""Each sentence's, finished."""


class Captures:
    """The recordings of one model, made when they are first needed."""

    def __init__(self, system: CMLM, *, fusing: bool = FUSING) -> None:
        self.system = system
        self.fusing = fusing
        """Whether fused kernels are still to be used where they can be: they are given up where they fail."""
        self.fused: FusedTransformer | None = None
        self.made: dict[CaptureShape, Capture | None] = {}
        """In the order in which they were last needed; None for a shape that was seen once and not recorded."""
        self.pool: Pool | None = None
        """Room for what is computed on the way. All recordings share it, since one runs at a time."""
        self.under_way: UnderWay | None = None
        """What the GPU was last told to do."""
        self.in_use = threading.Lock()
        """Threads may share a model, but a capture has one place for its inputs."""

    def start(
        self, requests: Sequence[Request], settings: MaskPredictSettings
    ) -> Callable[[], Candidates | None] | None:
        """Begin to translate, and give a function that waits for the end.

        None when the plain path has to do it; what the function returns is None when that turns out at the end.
        """
        shape = CaptureShape.of(requests, settings, self.system.config.max_positions)
        begun = self._begin(shape, requests)
        return None if begun is None else partial(self._finish, begun, requests, settings)

    def _finish(
        self, begun: UnderWay | None, requests: Sequence[Request], settings: MaskPredictSettings
    ) -> Candidates | None:
        while begun is not None:
            with self.in_use:
                results = begun.results()
            try:
                return finished(results, begun.shape, len(requests), settings)
            except TooNarrow as error:
                wider = begun.shape.widened(error.length, self.system.config.max_positions)
                begun = self._begin(wider, requests)
        return None

    def _begin(self, shape: CaptureShape | None, requests: Sequence[Request]) -> UnderWay | None:
        if shape is None:
            return None
        inputs = inputs_of(requests, shape, self.system.special.pad)
        with self.in_use:
            if shape.positions > AT_FIRST_SIGHT and shape not in self.made:
                self._keep(shape, None)
                return None
            if self.under_way is not None:
                self.under_way.results()  # its place will be needed
                self.under_way = None
            capture = self.made.get(shape) or self._recorded(shape, inputs)
            self._keep(shape, capture)
            capture.begin(inputs)
            self.under_way = UnderWay(capture)
            return self.under_way

    def _recorded(self, shape: CaptureShape, inputs: list[int]) -> Capture:
        if (fused := self._fused(shape)) is not None:
            try:
                return self._tried(shape, fused, inputs)
            except torch.OutOfMemoryError:
                raise
            except Exception as error:  # a kernel that cannot be compiled for this shape; no other one is tried
                give_up(error)
                self.fusing = False
        return self._tried(shape, PlainComputation(self.system, shape), inputs)

    def _tried(self, shape: CaptureShape, computation: Computation, inputs: list[int]) -> Capture:
        """A capture that did not fail."""
        if self.pool is None and self.system.device.type == "cuda":
            self.pool = torch.cuda.graph_pool_handle()
        capture = Capture(self.system, shape, computation, self.pool)
        capture.begin(inputs)
        capture.results()
        return capture

    def _keep(self, shape: CaptureShape, capture: Capture | None) -> None:
        """Note that this was needed now, and forget what was not needed for longest."""
        self.made.pop(shape, None)
        if len(self.made) >= MAX_CAPTURES:
            self.made.pop(next(iter(self.made)))
        self.made[shape] = capture

    def _fused(self, shape: CaptureShape) -> Computation | None:
        if not (self.fusing and captured_fused.suits(shape)):
            return None
        if self.fused is None:
            self.fused = self._proven()
        if self.fused is None:
            self.fusing = False
            return None
        from maskpredict.kernels import draft_step as gpu_fixed_drafts

        return FusedComputation(self.system, self.fused, gpu_fixed_drafts, shape)

    def _proven(self) -> FusedTransformer | None:
        """The model with fused kernels, if all of them do what they should."""
        fused = fused_view(self.system.transformer)
        if fused is None:
            return None
        from maskpredict.kernels import draft_step as gpu_fixed_drafts

        try:
            if comes_to_the_same(gpu_fixed_drafts, self.system.device):
                return fused
            give_up("what they mask is something else.")
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # as in `fused_view`
            give_up(error)
        return None


class UnderWay:
    """A translation that a GPU was told to make."""

    def __init__(self, capture: Capture) -> None:
        self.shape = capture.shape
        self._recording: Capture | None = capture
        self._results = torch.empty(0)

    def results(self) -> Tensor:
        """Those of `FixedDrafts`; to be asked for before the capture begins again."""
        if self._recording is not None:
            self._results, self._recording = self._recording.results(), None
        return self._results
