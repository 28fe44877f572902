"""Several processes on one run, started by torchrun: gloo between CPUs, nccl between GPUs.

Each update's parts are dealt out to the workers, gradients and counts are summed, and every worker makes the same step.
Sums, not means, travel: so the result is that of one worker that computes all parts itself.
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

from maskpredict.errors import UserError


@dataclass(frozen=True)
class Workers:
    """This process among those of the run."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """True for the one that writes files and shows progress."""
        return self.rank == 0

    def sum(self, tensors: list[Tensor]) -> None:
        """Replace each tensor by its sum over all workers."""
        if self.size == 1 or not tensors:
            return
        flat = _flatten_dense_tensors(tensors)
        dist.all_reduce(flat)
        for tensor, summed in zip(tensors, _unflatten_dense_tensors(flat, tensors), strict=True):
            tensor.copy_(summed)

    def agree(self, flag: bool, device: torch.device) -> bool:
        """True when any worker says so: all must stop after the same update."""
        return self.largest(float(flag), device) > 0

    def largest(self, value: float, device: torch.device) -> float:
        """The largest of the workers' values: clocks differ, but all must see the same time."""
        if self.size == 1:
            return value
        shared = torch.tensor(value, device=device)
        dist.all_reduce(shared, dist.ReduceOp.MAX)
        return float(shared)

    def wait(self) -> None:
        """Go on when all workers have come here."""
        if self.size > 1:
            dist.barrier()


@contextmanager
def workers(device: torch.device) -> Iterator[Workers]:
    """Join the other processes that torchrun started, if there are any."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield Workers()
        return
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=timedelta(minutes=30))
    try:
        yield Workers(dist.get_rank(), size)
    finally:
        dist.destroy_process_group()


def is_main_process() -> bool:
    """Whether this process speaks for all that torchrun started; True without torchrun."""
    return os.environ.get("RANK", "0") == "0"


def local_device(name: str) -> torch.device:
    """The device of this process: under torchrun each takes the GPU of its local rank."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if name == "cuda" else torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UserError(f"the device {name!r} cannot be used here; choose auto, cpu or cuda.") from error
    if device.type == "cuda":
        torch.cuda.set_device(device)
    return device
