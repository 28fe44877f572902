"""A name for one start of all processes, so that they find each other and not those of an earlier start.

torchrun keeps one store for all restarts, and gloo and nccl write their addresses into it under the same names each
time. A process that is restarted a little earlier than another would read the address of the dead one and fail to
connect (https://github.com/pytorch/pytorch/issues/135712). The number of restarts cannot tell the starts apart: each
host counts its own.
"""

from __future__ import annotations

import time
from datetime import timedelta
from hashlib import sha256
from uuid import uuid4

from torch.distributed.distributed_c10d import PrefixStore, Store

from maskpredict.errors import UserError

POLL_SECONDS = 0.05


def fresh_store(store: Store, rank: int, world_size: int, timeout: timedelta) -> Store:
    """Wait for all processes and return a part of the store in which none but they have written."""
    return PrefixStore(_agree(store, rank, world_size, timeout), store)


def _agree(store: Store, rank: int, world_size: int, timeout: timedelta) -> str:
    """A name that all processes have computed from a random number of each.

    Numbers of dead processes may still be in the store. A name made with them is never confirmed by those processes,
    so this one reads again until all numbers are those of living processes, which confirm it.
    """
    deadline = time.monotonic() + timeout.total_seconds()
    keys = [f"process/{one}" for one in range(world_size)]
    store.set(keys[rank], uuid4().hex)
    while time.monotonic() < deadline:
        if store.check(keys):
            name = sha256(b" ".join(store.multi_get(keys))).hexdigest()
            store.set(f"{name}/{keys[rank]}", "confirmed")
            if store.check([f"{name}/{key}" for key in keys]):
                return name
        time.sleep(POLL_SECONDS)
    raise UserError(f"process {rank} has waited {timeout} for all {world_size} to start; see why some do not.")
