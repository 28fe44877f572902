"""Processes that start together find each other, whatever an earlier start has left in their store."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from torch._C._distributed_c10d import Store, TCPStore

from maskpredict.errors import UserError
from maskpredict.training.attempt import fresh_store

TIMEOUT = timedelta(seconds=60)
PROCESSES = 3


@pytest.fixture
def server() -> TCPStore:
    return TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)


def start(server: TCPStore, rank: int, late: float = 0.0) -> Store:
    """What a process does that starts so many seconds late."""
    time.sleep(late)
    return fresh_store(TCPStore("127.0.0.1", server.port, timeout=TIMEOUT), rank, PROCESSES, TIMEOUT)


def start_all(server: TCPStore, late: int) -> list[Store]:
    """Start all processes, one of them later than the others."""
    with ThreadPoolExecutor(PROCESSES) as pool:
        return list(pool.map(lambda rank: start(server, rank, 0.5 * (rank == late)), range(PROCESSES)))


@pytest.mark.parametrize("late", range(PROCESSES))
def test_no_process_reads_what_an_earlier_start_has_written(server: TCPStore, late: int) -> None:
    for address in ("earlier", "later", "last"):
        stores = start_all(server, late)
        assert not any(store.check(["address"]) for store in stores)
        stores[late].set("address", address)
        assert [store.get("address") for store in stores] == [address.encode()] * PROCESSES


def test_processes_killed_while_they_waited_do_not_count(server: TCPStore) -> None:
    for rank in (0, 1):
        with pytest.raises(UserError, match=r"process \d has waited 0:00:00.2\d* for all 3 to start"):
            fresh_store(server, rank, PROCESSES, timedelta(seconds=0.2))
    stores = start_all(server, late=1)
    stores[0].set("address", "new")
    assert [store.get("address") for store in stores] == [b"new"] * PROCESSES
