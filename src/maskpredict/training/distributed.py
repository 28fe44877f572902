"""Data-parallel training under torchrun: gloo between CPUs, nccl between GPUs.

Each process computes its share of an update's micro-batches. Gradients and counts are summed over all processes, and
every process makes the same optimizer step. Sums are exchanged, not means, so the result is that of one process that
computes all micro-batches itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
from torch.distributed.rendezvous import rendezvous

from maskpredict.engines.devices import find_device
from maskpredict.training.attempt import fresh_store

JOIN_TIMEOUT = timedelta(minutes=30)
"""How much later than the first of them the last process may start."""
STUCK_AFTER = 900.0
"""Default seconds without progress after which a process counts as stuck."""


@dataclass(frozen=True)
class ProcessGroup:
    """The rank of this process and the world size; the defaults are those of a single process."""

    rank: int = 0
    world_size: int = 1

    @property
    def is_main(self) -> bool:
        """True if this process writes files and shows progress."""
        return self.rank == 0

    def all_reduce(self, tensors: list[Tensor]) -> None:
        """Replace each tensor by its sum over all processes."""
        if self.world_size == 1 or not tensors:
            return
        flat = _flatten_dense_tensors(tensors)
        dist.all_reduce(flat)
        for tensor, summed in zip(tensors, _unflatten_dense_tensors(flat, tensors), strict=True):
            tensor.copy_(summed)

    def any(self, flag: bool, device: torch.device) -> bool:
        """Return whether the flag is True in any process, so that all stop after the same update."""
        return self.max(float(flag), device) > 0

    def max(self, value: float, device: torch.device) -> float:
        """The largest value of all processes, so that all see the same time although clocks differ."""
        if self.world_size == 1:
            return value
        shared = torch.tensor(value, device=device)
        dist.all_reduce(shared, dist.ReduceOp.MAX)
        return float(shared)

    def sum(self, value: int, device: torch.device) -> int:
        """The sum of a number over all processes."""
        if self.world_size == 1:
            return value
        shared = torch.tensor([value], device=device)
        dist.all_reduce(shared)
        return int(shared)

    def barrier(self) -> None:
        """Wait until all processes have come here."""
        if self.world_size > 1:
            dist.barrier()


@contextmanager
def join_process_group(device: torch.device, stuck_after: float | None = None) -> Iterator[ProcessGroup]:
    """Join the processes that torchrun started; without torchrun, the group is this process alone.

    An exchange fails after twice the time after which a process counts as stuck, so that it can report first.
    """
    if not is_distributed():
        yield ProcessGroup()
        return
    store, rank, world_size = next(rendezvous("env://", timeout=JOIN_TIMEOUT))
    store = fresh_store(store, rank, world_size, JOIN_TIMEOUT)
    timeout = timedelta(seconds=2 * (stuck_after or STUCK_AFTER))
    store.set_timeout(timeout)
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=world_size, timeout=timeout)
    try:
        yield ProcessGroup(rank, world_size)
    finally:
        dist.destroy_process_group()


def is_distributed() -> bool:
    """Return whether torchrun started several processes."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def is_main_process() -> bool:
    """Return whether this process reports for all that torchrun started; True without torchrun."""
    return os.environ.get("RANK", "0") == "0"


def local_device(name: str) -> torch.device:
    """The device of this process: under torchrun each takes the GPU of its local rank."""
    chosen = find_device(name)
    if chosen == "cuda":
        chosen = find_device(f"cuda:{os.environ.get('LOCAL_RANK', '0')}")
    device = torch.device(chosen)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    return device
