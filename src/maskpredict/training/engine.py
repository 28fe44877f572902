"""Forward and backward pass of a micro-batch, with gradient accumulation.

- `EagerEngine` runs the system's loss as it is written, on any device and any batch.
- `CapturedEngine` captures it as a CUDA graph of one packed shape, so that a micro-batch costs one launch. Compiled
  first, if asked, the operations between matrix products are fused: the same loss within rounding, four times as fast.
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
from maskpredict.training.loader import packed_tensors, packed_tokens, to_batch

WARM_UP = 3
"""Runs before capture, which PyTorch requires to keep one-time allocations and compilation out of the graph."""


class TrainingEngine(Protocol):
    """Accumulates gradients, one micro-batch at a time."""

    def accumulate(self, arrays: PairArrays, seed: int) -> Tensor:
        """Add the gradients of a micro-batch; returns its sums: loss, count, then the named parts of the loss."""


def part_seed(run_seed: int, update: int, part: int) -> int:
    """Seed of the masks and dropout of a micro-batch: a function of its position, so no random state is ever saved."""
    return int(np.random.SeedSequence([run_seed, update, part]).generate_state(1, np.uint64)[0] >> 1)


def sums_of(loss: Loss) -> Tensor:
    """The numbers of a loss as one tensor, so that one all-reduce sums them all."""
    values = [loss.total, loss.count, *loss.parts.values()]
    return torch.stack([value.detach().to(torch.float64) for value in values])


def mixed_precision(device: torch.device, dtype: torch.dtype) -> torch.autocast | nullcontext[None]:
    """Autocast to `dtype`; no autocast for float32."""
    if dtype == torch.float32:
        return nullcontext()
    # Under a captured graph a cached low-precision copy of a weight would never be refreshed.
    return torch.autocast(device.type, dtype, cache_enabled=False)


class EagerEngine:
    """Eager PyTorch."""

    def __init__(
        self, system: System, dtype: torch.dtype, max_length: int, scaler: torch.amp.GradScaler | None = None
    ) -> None:
        self.system, self.dtype, self.max_length, self.scaler = system, dtype, max_length, scaler

    def accumulate(self, arrays: PairArrays, seed: int) -> Tensor:
        """Add the gradients of a micro-batch; returns its sums: loss, count, then the named parts of the loss."""
        torch.manual_seed(seed)
        batch = to_batch(arrays, self.system.device, self.max_length)
        with mixed_precision(self.system.device, self.dtype):
            loss = self.system.loss(batch)
        total = self.scaler.scale(loss.total) if self.scaler else loss.total
        total.backward()
        return sums_of(loss)


class CapturedEngine:
    """A CUDA graph of one fixed packed shape, compiled if asked."""

    def __init__(self, system: System, dtype: torch.dtype, max_length: int, *, compiled: bool = False) -> None:
        self.system, self.dtype, self.max_length = system, dtype, max_length
        self.run = torch.compile(self._sums, fullgraph=True, dynamic=False) if compiled else self._sums
        self.graph: torch.cuda.CUDAGraph | None = None
        self.inputs: list[Tensor] = []
        self.sums = torch.empty(0)

    def accumulate(self, arrays: PairArrays, seed: int) -> Tensor:
        """Add the gradients of a micro-batch; returns its sums: loss, count, then the named parts of the loss."""
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
        """Capture forward and backward; gradients accumulated so far keep their values."""
        self.inputs = [tensor.to(self.system.device) for tensor in fresh]
        accumulated = [_gradient(p).clone() for p in self.system.parameters()]
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
        for parameter, gradient in zip(self.system.parameters(), accumulated, strict=True):
            _gradient(parameter).copy_(gradient)


def _gradient(parameter: torch.nn.Parameter) -> Tensor:
    """The gradient of a parameter, allocated if there is none yet: a graph needs it at a fixed address."""
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad
