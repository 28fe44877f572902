"""How one part of an update is computed: forward pass, backward pass, gradients added up.

- `EagerEngine` runs the system's loss as it is written, on any device and any batch.
- `CapturedEngine` records it for one packed shape as a CUDA graph, so that a part costs one launch, and compiles it
  first if asked, which fuses what lies between the matrix products: the same loss within rounding, four times as fast.
  `benchmarks/training_engine.py` measures both and compares the losses.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from maskpredict.corpus.batches import PairArrays
from maskpredict.model.batch import Batch
from maskpredict.systems.base import Loss, System
from maskpredict.training.feed import packed_tensors, packed_tokens, to_batch

WARM_UP = 3
"""Runs before capture, as PyTorch asks for, so that one-time allocations and compilation stay out of the graph."""


class Engine(Protocol):
    """Adds the gradients of one part to those already there."""

    def accumulate(self, arrays: PairArrays, seed: int) -> Tensor:
        """Sums of the part: loss, count, then the loss's named parts in order."""


def part_seed(run_seed: int, update: int, part: int) -> int:
    """Seed of the masks and dropout of a part: a function of its place alone, so no random state is ever saved."""
    return int(np.random.SeedSequence([run_seed, update, part]).generate_state(1, np.uint64)[0] >> 1)


def sums_of(loss: Loss) -> Tensor:
    """The loss's numbers as one tensor, so that workers can add theirs in one message."""
    values = [loss.total, loss.count, *loss.parts.values()]
    return torch.stack([value.detach().to(torch.float64) for value in values])


def mixed_precision(device: torch.device, dtype: torch.dtype) -> torch.autocast | nullcontext[None]:
    """Autocast to `dtype`; nothing for float32."""
    if dtype == torch.float32:
        return nullcontext()
    # Under a captured graph a cached low-precision copy of a weight would never be refreshed.
    return torch.autocast(device.type, dtype, cache_enabled=False)


class EagerEngine:
    """Plain PyTorch."""

    def __init__(
        self, system: System, dtype: torch.dtype, max_length: int, scaler: torch.amp.GradScaler | None = None
    ) -> None:
        self.system, self.dtype, self.max_length, self.scaler = system, dtype, max_length, scaler

    def accumulate(self, arrays: PairArrays, seed: int) -> Tensor:
        """Sums of the part: loss, count, then the loss's named parts in order."""
        torch.manual_seed(seed)
        batch = to_batch(arrays, self.system.device, self.max_length)
        with mixed_precision(self.system.device, self.dtype):
            loss = self.system.loss(batch)
        total = self.scaler.scale(loss.total) if self.scaler else loss.total
        total.backward()
        return sums_of(loss)


class CapturedEngine:
    """One captured step of one fixed packed shape, compiled if asked; CUDA only."""

    def __init__(self, system: System, dtype: torch.dtype, max_length: int, *, compiled: bool = False) -> None:
        self.system, self.dtype, self.max_length = system, dtype, max_length
        self.run = torch.compile(self._sums, fullgraph=True, dynamic=False) if compiled else self._sums
        self.graph: torch.cuda.CUDAGraph | None = None
        self.inputs: list[Tensor] = []
        self.sums = torch.empty(0)

    def accumulate(self, arrays: PairArrays, seed: int) -> Tensor:
        """Sums of the part: loss, count, then the loss's named parts in order."""
        fresh = self._tensors(arrays)
        if self.graph is None:
            self._capture(fresh)
        assert self.graph is not None
        for static, new in zip(self.inputs, fresh, strict=True):
            static.copy_(new.pin_memory(), non_blocking=True)
        torch.manual_seed(seed)
        self.graph.replay()
        return self.sums.clone()

    def _tensors(self, arrays: PairArrays) -> list[Tensor]:
        source, target = packed_tensors(arrays.source), packed_tensors(arrays.target)
        return [*source, *target, torch.tensor(arrays.real_rows)]

    def _sums(
        self,
        source_ids: Tensor,
        source_starts: Tensor,
        target_ids: Tensor,
        target_starts: Tensor,
        real_rows: Tensor,
    ) -> tuple[Tensor, Tensor]:
        batch = Batch(
            packed_tokens(source_ids, source_starts, real_rows, self.max_length),
            packed_tokens(target_ids, target_starts, real_rows, self.max_length),
        )
        with mixed_precision(self.system.device, self.dtype):
            loss = self.system.loss(batch)
        return loss.total, sums_of(loss)

    def _capture(self, fresh: list[Tensor]) -> None:
        """Record forward and backward; the gradients there are keep their values."""
        self.inputs = [tensor.to(self.system.device) for tensor in fresh]
        kept = [_gradient(p).clone() for p in self.system.parameters()]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                self.run(*self.inputs)[0].backward()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            total, self.sums = self.run(*self.inputs)
            total.backward()
        for parameter, gradient in zip(self.system.parameters(), kept, strict=True):
            _gradient(parameter).copy_(gradient)


def _gradient(parameter: torch.nn.Parameter) -> Tensor:
    """A parameter's gradient, made of zeros if there is none yet: a graph needs it at a fixed address."""
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad
