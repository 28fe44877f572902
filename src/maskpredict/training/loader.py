"""Data loader of training: micro-batches in the order of the run, sharded over processes, prefetched by a thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from maskpredict.corpus.batches import Batches, PairArrays, Side
from maskpredict.model.batch import Batch, Tokens
from maskpredict.model.layout import Packed, Padded


@dataclass(frozen=True)
class Position:
    """Position in the data: the next update. Nothing else is needed to resume."""

    epoch: int = 0
    update: int = 0
    """Within the epoch."""


@dataclass(frozen=True)
class MicroBatch:
    """The pairs of an update that the device computes at once."""

    number: int
    """Index within the update, over all processes; together with the update it seeds masks and dropout."""
    arrays: PairArrays


@dataclass(frozen=True)
class Update:
    """The data of one optimizer step."""

    position: Position
    parts: list[MicroBatch]
    """Micro-batches of this process."""
    after: Position
    """Position of the next update."""
    ends_epoch: bool


class UpdateLoader:
    """Yields the updates of a run, epoch after epoch."""

    def __init__(self, batches: Batches, parts: int, rank: int = 0, world_size: int = 1) -> None:
        self.batches = batches
        self.parts = parts
        """Micro-batches of an update, over all processes; a multiple of the world size."""
        self.rank, self.world_size = rank, world_size

    def updates(self, position: Position) -> Generator[Update, None, None]:
        """Updates from `position` on, without end; a thread prefetches a few."""
        ready: queue.Queue[Update | BaseException] = queue.Queue(maxsize=8)
        stop = threading.Event()

        def prefetch() -> None:
            try:
                for update in self._plan_updates(position):
                    while not stop.is_set():
                        try:
                            ready.put(update, timeout=0.1)
                            break
                        except queue.Full:
                            continue
                    if stop.is_set():
                        return
            except BaseException as error:  # hand it to the thread that waits for updates
                ready.put(error)

        thread = threading.Thread(target=prefetch, daemon=True, name="batches")
        thread.start()
        try:
            while True:
                update = ready.get()
                if isinstance(update, BaseException):
                    raise update
                yield update
        finally:
            stop.set()
            thread.join()

    def _plan_updates(self, position: Position) -> Iterator[Update]:
        epoch, first = position.epoch, position.update
        while True:
            plan = self.batches.plan(epoch)
            count = -(-len(plan) // self.parts)
            for update in range(first, count):
                last = update + 1 == count
                after = Position(epoch + 1, 0) if last else Position(epoch, update + 1)
                numbers = range(self.rank, self.parts, self.world_size)
                # The last update of an epoch is completed from its beginning.
                parts = [
                    MicroBatch(n, self.batches.arrays(plan[(update * self.parts + n) % len(plan)])) for n in numbers
                ]
                yield Update(Position(epoch, update), parts, after, last)
            epoch, first = epoch + 1, 0


def to_batch(arrays: PairArrays, device: torch.device, max_length: int) -> Batch:
    """The arrays as tensors on a device."""
    if arrays.packed:
        real_rows = torch.tensor(arrays.real_rows, device=device)
        return Batch(*(packed_tokens(*packed_tensors(s, device), real_rows, max_length) for s in _sides(arrays)))
    return Batch(*(_padded_tokens(side, device) for side in _sides(arrays)))


def packed_tensors(side: Side, device: torch.device | None = None) -> tuple[Tensor, Tensor]:
    """Ids and row starts of one side, pinned for a fast copy when no device is given."""
    starts = np.zeros(len(side.lengths) + 1, np.int32)
    np.cumsum(side.lengths, out=starts[1:])
    return torch.from_numpy(side.ids).to(device), torch.from_numpy(starts).to(device)


def packed_tokens(ids: Tensor, starts: Tensor, real_rows: Tensor, max_length: int) -> Tokens:
    """Packed ids with their layout; a slot in front of a sentence makes it one longer than `max_length`."""
    return Tokens(ids, Packed.of(starts, real_rows, len(ids), max_length + 1))


def _padded_tokens(side: Side, device: torch.device) -> Tokens:
    lengths = torch.from_numpy(side.lengths).to(device)
    return Tokens(torch.from_numpy(side.ids).to(device), Padded.of(lengths, side.ids.shape[1]))


def _sides(arrays: PairArrays) -> tuple[Side, Side]:
    return arrays.source, arrays.target
