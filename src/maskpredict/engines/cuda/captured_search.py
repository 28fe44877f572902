"""Beam search for a small batch as captured CUDA graphs of a few steps each.

A GPU computes a step of a few sentences faster than the host launches it. After each graph the host checks whether all
sentences are finished. The graphs of a capture are replayed in the order of capture, since each continues from the
state that the previous one left.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import torch
from torch import Tensor

from maskpredict.engines.cuda.beam_step_check import matches_reference
from maskpredict.engines.cuda.fused_transformer import FusedTransformer
from maskpredict.engines.cuda.selfcheck import USE_FUSED_KERNELS, verified_fused, warn_unfused
from maskpredict.engines.torch.beam_search import CHECK_EVERY, Beams, Search, SearchShape
from maskpredict.engines.torch.engine import StartSearch
from maskpredict.model.batch import Tokens
from maskpredict.model.transformer import Transformer

MAX_CAPTURED_BEAMS = 1_280
"""Beams of the largest captured batch. With 256 sentences and five beams, captures are four times as fast."""
MAX_CAPTURES = 160
"""Size of the cache of captures; the least recently used is dropped."""
MAX_MEMORY_SHARE = 0.5
"""Share of the GPU's memory in use beyond which captures are dropped: a large one has gigabytes of keys and values."""


def search_kind(transformer: Transformer, beams: int) -> type[Search]:
    """Return the search class for a model: `FusedSearch` for one with fused kernels on a GPU."""
    if not (isinstance(transformer, FusedTransformer) and transformer.output.weight.is_cuda):
        return Search
    from maskpredict.engines.cuda.fused_search import FusedSearch
    from maskpredict.kernels.beam_step import MAX_BEAMS

    return FusedSearch if beams <= MAX_BEAMS else Search


class SearchCaptures:
    """Cache of the captures of one model. A shape is captured at its second use."""

    def __init__(self, *, fusing: bool = USE_FUSED_KERNELS) -> None:
        self.fusing = fusing
        """True while fused kernels may be used; False after they failed."""
        self.fused: FusedTransformer | None = None
        self.made: dict[SearchShape, SearchCapture | None] = {}
        """Captures by shape, the least recently used first; None for a shape used once and not captured."""
        self.in_use = threading.Lock()
        """Threads may share a model, but a capture has a single state."""

    def find(
        self, shape: SearchShape, plain: Transformer, source: Tokens, limits_B: Tensor, start: StartSearch
    ) -> Beams | None:
        """Return the finished hypotheses, or None if the search must run uncaptured.

        The first use of a shape does: most shapes are not used again.
        """
        with self.in_use:
            seen, capture = shape in self.made, self.made.pop(shape, None)
            if seen and capture is None:
                self._free_memory(limits_B.device)
                capture = self._new_capture(shape, plain, source, limits_B, start)
            self.made[shape] = capture  # most recently used
            if len(self.made) > MAX_CAPTURES:
                self._drop_least_recent()
            return capture.find(source, limits_B) if capture is not None else None

    def _free_memory(self, device: torch.device) -> None:
        _, memory = torch.cuda.mem_get_info(device)
        while self.made and torch.cuda.memory_allocated(device) > MAX_MEMORY_SHARE * memory:
            self._drop_least_recent()

    def _drop_least_recent(self) -> None:
        self.made.pop(next(iter(self.made)))

    def _new_capture(
        self, shape: SearchShape, plain: Transformer, source: Tokens, limits_B: Tensor, start: StartSearch
    ) -> SearchCapture:
        if self.fusing and self.fused is None:
            self.fused = verified_fused(plain)
        if self.fusing and self.fused is not None:
            try:
                if not matches_reference(search_kind(self.fused, shape.beams), shape.beams, limits_B.device):
                    raise RuntimeError("their beam search differs from PyTorch's.")
                return SearchCapture(shape, self.fused, source, limits_B, start)
            except torch.OutOfMemoryError:
                raise
            except Exception as error:  # a kernel does not compile for this shape; none is tried for another shape
                warn_unfused(error)
        self.fusing = False
        return SearchCapture(shape, plain, source, limits_B, start)


class SearchCapture:
    """One captured search."""

    def __init__(
        self, shape: SearchShape, model: Transformer, source: Tokens, limits_B: Tensor, start: StartSearch
    ) -> None:
        self.shape, self.model, self.start = shape, model, start
        self.source, self.limits_B = source, limits_B.clone()
        self._warm_up()
        self.pool = torch.cuda.graph_pool_handle()
        self.search: Search | None = None
        self.graphs: list[torch.cuda.CUDAGraph] = []
        self.after: list[tuple[Tensor, Beams]] = []
        """`finished_B` and `done` of the search after each graph."""

    def find(self, source: Tokens, limits_B: Tensor) -> Beams:
        """Return the finished hypotheses of sentences of the captured shape."""
        self.source.ids.copy_(source.ids)
        self.source.layout.lengths_B.copy_(source.layout.lengths_B)
        self.limits_B.copy_(limits_B)
        for first in range(0, self.shape.width, CHECK_EVERY):
            number = first // CHECK_EVERY
            if number == len(self.graphs):
                self._capture_steps(range(first, min(first + CHECK_EVERY, self.shape.width)))
            self.graphs[number].replay()
            finished_B, done = self.after[number]
            if bool(finished_B.all()):
                break
        copy = done.select(torch.arange(len(limits_B), device=limits_B.device))
        torch.cuda.current_stream().synchronize()  # before the next replay overwrites the result
        return copy

    def _warm_up(self) -> None:
        """Search once without capture, so that one-time allocations and compilations are not captured."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            search = self.start(self.model, self.source, self.limits_B, self.shape.width)
            for time in range(self.shape.width):
                search.step(time)
        torch.cuda.current_stream().wait_stream(stream)

    def _capture_steps(self, steps: Sequence[int]) -> None:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
            if self.search is None:
                self.search = self.start(self.model, self.source, self.limits_B, self.shape.width)
            for time in steps:
                self.search.step(time)
        self.graphs.append(graph)
        self.after.append((self.search.finished_B, self.search.done))
