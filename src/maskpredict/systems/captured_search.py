"""Beam search for a small batch as recorded CUDA graphs, a few steps in each.

As with `captured_cmlm`, a GPU computes a step of a few sentences faster than it is told to. After each graph the host
looks whether all sentences are finished. All graphs of a recording are replayed in the order in which they were made,
so each finds the state where the one before has left it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from maskpredict.decoding.beam_search import LEAVE_EVERY, Beams, Search
from maskpredict.model.batch import Tokens

MOST_ROWS = 256
"""Beams beyond which a batch keeps a GPU busy without a recording."""
MOST_RECORDINGS = 32
"""Each takes some memory; beyond that the oldest goes."""

Start = Callable[[Tokens, Tensor, int], Search]
"""(sources, longest length of each target, the longest of all) -> a search that has made no step yet."""


@dataclass(frozen=True)
class Shape:
    """What a recording is made for."""

    sentences: int
    source_width: int
    width: int
    """Longest target."""
    settings: object


class SearchRecordings:
    """The recordings of one model, made when a shape is needed for the second time."""

    def __init__(self) -> None:
        self.made: dict[Shape, Recording | None] = {}
        self.in_use = threading.Lock()
        """Threads may share a model, but a recording has one place for its state."""

    def find(self, shape: Shape, source: Tokens, limits_B: Tensor, start: Start) -> Beams | None:
        """The finished hypotheses; None when the plain path has to do it.

        The first time it always has: it makes all the one-time allocations and compilations that a recording must not
        contain.
        """
        if shape not in self.made:
            self.made[shape] = None
            if len(self.made) > MOST_RECORDINGS:
                self.made.pop(next(iter(self.made)))
            return None
        with self.in_use:
            recording = self.made[shape] or Recording(shape, source, limits_B, start)
            self.made[shape] = recording
            return recording.find(source, limits_B)


class Recording:
    """One recorded search."""

    def __init__(self, shape: Shape, source: Tokens, limits_B: Tensor, start: Start) -> None:
        self.shape, self.start = shape, start
        self.source, self.limits_B = source, limits_B.clone()
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

    def _record(self, steps: Sequence[int]) -> None:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
            if self.search is None:
                self.search = self.start(self.source, self.limits_B, self.shape.width)
            for time in steps:
                self.search.step(time)
        self.graphs.append(graph)
        self.after.append((self.search.finished_B, self.search.done))
