"""Beam search for a small batch as recorded CUDA graphs, a few steps in each.

As with `captures`, a GPU computes a step of a few sentences faster than it is told to. After each graph the host
looks whether all sentences are finished. All graphs of a capture are replayed in the order in which they were made,
so each finds the state where the one before has left it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import torch
from torch import Tensor

from maskpredict.engines.cuda.beam_step_check import finds_the_same
from maskpredict.engines.cuda.fused_transformer import FusedTransformer
from maskpredict.engines.cuda.selfcheck import FUSING, fused_view, give_up
from maskpredict.engines.torch.beam_search import LEAVE_EVERY, Beams, Search, SearchShape
from maskpredict.engines.torch.engine import StartSearch
from maskpredict.model.batch import Tokens
from maskpredict.model.transformer import Transformer

MOST_ROWS = 1_280
"""Beams beyond which a batch is not recorded. With 256 sentences and five beams, recordings are four times as fast."""
MAX_CAPTURES = 160
"""Beyond that the one that was not needed for longest goes."""
MOST_MEMORY = 0.5
"""Share of the GPU's memory, all that is in use counted, beyond which recordings go as well: a large one holds the keys
and values of gigabytes."""


def search_kind(transformer: Transformer, beams: int) -> type[Search]:
    """The search for this model: with fused kernels, one whose own steps are few launches too."""
    if not (isinstance(transformer, FusedTransformer) and transformer.output.weight.is_cuda):
        return Search
    from maskpredict.engines.cuda.fused_search import FusedSearch
    from maskpredict.kernels.beam_step import MOST_BEAMS

    return FusedSearch if beams <= MOST_BEAMS else Search


class SearchCaptures:
    """The recordings of one model, made when a shape is needed for the second time."""

    def __init__(self, *, fusing: bool = FUSING) -> None:
        self.fusing = fusing
        """Whether fused kernels are still to be used where they can be: they are given up where they fail."""
        self.fused: FusedTransformer | None = None
        self.made: dict[SearchShape, SearchCapture | None] = {}
        """In the order in which they were last needed; None for a shape that was seen once and not recorded."""
        self.in_use = threading.Lock()
        """Threads may share a model, but a capture has one place for its state."""

    def find(
        self, shape: SearchShape, plain: Transformer, source: Tokens, limits_B: Tensor, start: StartSearch
    ) -> Beams | None:
        """The finished hypotheses; None when the plain path has to do it.

        The first time it always has: most shapes are not needed again.
        """
        with self.in_use:
            seen, capture = shape in self.made, self.made.pop(shape, None)
            if seen and capture is None:
                self._make_room(limits_B.device)
                capture = self._record(shape, plain, source, limits_B, start)
            self.made[shape] = capture  # now the last in the order in which they were needed
            if len(self.made) > MAX_CAPTURES:
                self._forget_one()
            return capture.find(source, limits_B) if capture is not None else None

    def _make_room(self, device: torch.device) -> None:
        _, memory = torch.cuda.mem_get_info(device)
        while self.made and torch.cuda.memory_allocated(device) > MOST_MEMORY * memory:
            self._forget_one()

    def _forget_one(self) -> None:
        """The one that was not needed for longest."""
        self.made.pop(next(iter(self.made)))

    def _record(
        self, shape: SearchShape, plain: Transformer, source: Tokens, limits_B: Tensor, start: StartSearch
    ) -> SearchCapture:
        if self.fusing and self.fused is None:
            self.fused = fused_view(plain)
        if self.fusing and self.fused is not None:
            try:
                if not finds_the_same(search_kind(self.fused, shape.beams), shape.beams, limits_B.device):
                    raise RuntimeError("their beam search finds something else.")
                return SearchCapture(shape, self.fused, source, limits_B, start)
            except torch.OutOfMemoryError:
                raise
            except Exception as error:  # a kernel that cannot be compiled for this shape; no other one is tried
                give_up(error)
        self.fusing = False
        return SearchCapture(shape, plain, source, limits_B, start)


class SearchCapture:
    """One recorded search."""

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
        """Which sentences are finished, and their hypotheses, after each graph."""

    def find(self, source: Tokens, limits_B: Tensor) -> Beams:
        """The finished hypotheses of other sentences of the same shape."""
        self.source.ids.copy_(source.ids)
        self.source.layout.lengths_B.copy_(source.layout.lengths_B)
        self.limits_B.copy_(limits_B)
        for first in range(0, self.shape.width, LEAVE_EVERY):
            number = first // LEAVE_EVERY
            if number == len(self.graphs):
                self._record(range(first, min(first + LEAVE_EVERY, self.shape.width)))
            self.graphs[number].replay()
            finished_B, done = self.after[number]
            if bool(finished_B.all()):
                break
        copy = done.select(torch.arange(len(limits_B), device=limits_B.device))
        torch.cuda.current_stream().synchronize()  # before anybody replays it again
        return copy

    def _warm_up(self) -> None:
        """Search once without capture: one-time allocations and compilations must not be recorded."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            search = self.start(self.model, self.source, self.limits_B, self.shape.width)
            for time in range(self.shape.width):
                search.step(time)
        torch.cuda.current_stream().wait_stream(stream)

    def _record(self, steps: Sequence[int]) -> None:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
            if self.search is None:
                self.search = self.start(self.model, self.source, self.limits_B, self.shape.width)
            for time in steps:
                self.search.step(time)
        self.graphs.append(graph)
        self.after.append((self.search.finished_B, self.search.done))
