"""Workers on a Ray cluster make the shards of a distillation by text.

This process reads the sources of each shard, gives them to a worker as bytes, and saves what comes back. Finished
shards are in OUT.shards, as without Ray: that is the record of what is done, which a restart continues from. Workers
keep nothing, so a lost one costs the shard that it was making. Machines need the teacher, but no common file system.
"""

from __future__ import annotations

import logging
import os
import socket
import statistics
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from maskpredict.distill.by_text.config import RayConfig, TextDistillConfig
from maskpredict.distill.by_text.run import TextDistillation
from maskpredict.distill.by_text.shard_files import ShardFiles
from maskpredict.distill.by_text.shards import TextShards
from maskpredict.distill.teachers import teacher_digest
from maskpredict.errors import UserError

POLL_SECONDS = 1.0
"""Interval of looking for machines that joined or left."""
RAY_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing leaves the machine unasked
    "RAY_raylet_start_wait_time_s": "120",  # a cluster that is started on a busy machine takes its time
}
CONNECTION_SECONDS = 10.0
"""Time in which the cluster's first machine must answer."""
MAX_LOSSES = 5
"""Workers that may be lost with one shard, or one after another while they load the teacher."""
STRAGGLER = 2.0
"""An idle worker makes a shard a second time if the first has taken longer than this many times the mean."""
LOADING = -1
"""Stands for a shard while a worker loads the teacher."""


class Worker:
    """Teacher and filters on a machine of the cluster."""

    def __init__(self, config: TextDistillConfig) -> None:
        self.distillation = TextDistillation(config)

    def load(self, digest: str) -> None:
        """Load the teacher, whose SHA-256 must be that of the machine where the distillation was started."""
        try:
            if teacher_digest(self.distillation.config) != digest:
                raise UserError("the teacher is not that of the machine where the work was started; copy it there.")
            _ = self.distillation.teacher, self.distillation.filter
        except UserError as error:
            raise UserError(f"on the machine {ray.util.get_node_ip_address()}, {error}") from error

    def make(self, sources: ShardFiles) -> ShardFiles:
        """The files of a finished shard, from those of its sources."""
        files = self.distillation.make_files(sources, lambda sentences: None)
        assert files is not None  # there is no deadline
        return files


@dataclass(frozen=True)
class Job:
    """A worker and what it is doing."""

    worker: Any
    shard: int
    started: float


class RayWorkers:
    """The workers of one call, and the shards that they are making."""

    def __init__(self, config: TextDistillConfig, shards: TextShards, report: Callable[[int], None]) -> None:
        """`report` gets the number of sources of each finished shard."""
        assert config.ray is not None
        self.limits, self.shards, self.report = config.ray, shards, report
        self.config = _for_workers(config, config.ray)
        self.missing: set[int] = set()
        """Shards that are not finished."""
        self.waiting: deque[int] = deque()
        """Those of them that no worker has."""
        self.jobs: dict[Any, Job] = {}
        """Busy workers by the reference to their result."""
        self.idle: list[Any] = []
        self.losses: Counter[int] = Counter()
        """Workers lost in a row, by the shard that they were making."""
        self.durations: list[float] = []
        """Seconds that each finished shard took."""

    def make(self, missing: Sequence[int], deadline: float | None) -> None:
        """Make these shards; those that are not finished at the deadline stay missing."""
        self.missing.update(missing)
        self.waiting.extend(missing)
        with _connected(self.limits):
            try:
                while self.missing and (deadline is None or time.monotonic() < deadline):
                    self._start_workers()
                    self._assign()
                    self._wait(deadline)
            finally:
                for worker in [*self.idle, *(job.worker for job in self.jobs.values())]:
                    ray.kill(worker)

    def _start_workers(self) -> None:
        """As many as there is room and work for."""
        wanted = min(self.limits.workers or self._room(), len(self.missing))
        for _ in range(wanted - len(self.jobs) - len(self.idle)):
            resources = {"num_cpus": self.limits.cpus, "num_gpus": self.limits.gpus}
            worker: Any = ray.remote(Worker).options(**resources, max_restarts=0).remote(self.config)
            self._add(worker, LOADING, worker.load.remote(self.shards.provenance["teacher_sha256"]))

    def _room(self) -> int:
        """Workers that fit on the machines that the cluster has now."""
        machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        needed = [("CPU", self.limits.cpus), ("GPU", self.limits.gpus)]
        return sum(min(int(has.get(name, 0) / count) for name, count in needed if count) for has in machines)

    def _assign(self) -> None:
        """Give idle workers the next shards."""
        while self.idle and (shard := self._next_shard()) is not None:
            worker = self.idle.pop()
            self._add(worker, shard, worker.make.remote(self.shards.sources(shard)))

    def _next_shard(self) -> int | None:
        while self.waiting:
            shard = self.waiting.popleft()
            if not self.shards.is_made(shard):
                return shard
            self.missing.discard(shard)  # another call has made it
        return self._straggler()

    def _straggler(self) -> int | None:
        """A shard that a worker is late with, if only one has it: the machine may be slow, or hang."""
        if not self.durations:
            return None
        latest = time.monotonic() - STRAGGLER * statistics.fmean(self.durations)
        workers = Counter(job.shard for job in self.jobs.values())
        late = [job for job in self.jobs.values() if job.started < latest and workers[job.shard] == 1]
        return next((job.shard for job in late if job.shard in self.missing), None)

    def _add(self, worker: Any, shard: int, result: Any) -> None:
        self.jobs[result] = Job(worker, shard, time.monotonic())

    def _wait(self, deadline: float | None) -> None:
        """Wait for a result or for another machine, not for long."""
        seconds = POLL_SECONDS if deadline is None else max(0.0, min(POLL_SECONDS, deadline - time.monotonic()))
        if not self.jobs:
            time.sleep(seconds)
            return
        done, _ = ray.wait(list(self.jobs), num_returns=1, timeout=seconds)
        for result in done:
            self._finish(self.jobs.pop(result), result)

    def _finish(self, job: Job, result: Any) -> None:
        """Save the shard of a worker, unless the worker is lost."""
        try:
            files = ray.get(result)
        except RayError as error:
            self._lose(job, error)
            return
        self.losses[job.shard] = 0
        self.idle.append(job.worker)
        if job.shard in self.missing:
            self.shards.write(job.shard, files)
            self.missing.discard(job.shard)
            self.durations.append(time.monotonic() - job.started)
            self.report(self.shards.sizes[job.shard])

    def _lose(self, job: Job, error: RayError) -> None:
        """Return the shard of a worker that ended, or failed as broken hardware makes it fail."""
        cause = error.cause if isinstance(error, RayTaskError) else error
        if isinstance(cause, UserError):
            raise UserError(str(cause)) from error
        ray.kill(job.worker)
        doing = "loading the teacher" if job.shard == LOADING else f"making shard {job.shard}"
        logging.getLogger(__name__).warning("A worker was lost while %s: %s", doing, _first_line(cause))
        self.losses[job.shard] += 1
        if self.losses[job.shard] >= MAX_LOSSES:
            raise UserError(f"{MAX_LOSSES} workers were lost while {doing}; the last: {_first_line(cause)}.") from error
        if job.shard in self.missing and job.shard not in {other.shard for other in self.jobs.values()}:
            self.waiting.appendleft(job.shard)


def _for_workers(config: TextDistillConfig, limits: RayConfig) -> TextDistillConfig:
    """The configuration of a worker: without deadline, and with paths that hold in any working folder."""
    filters = replace(config.filters, reverse=_absolute(config.filters.reverse))
    threads = config.threads or limits.cpus
    return replace(config, teacher=_absolute(config.teacher), filters=filters, seconds=None, ray=None, threads=threads)


def _absolute(teacher: str) -> str:
    """A teacher in a folder by its full path; others as they are."""
    kind, colon, model = teacher.rpartition(":")
    if not model or teacher.startswith("command:") or not Path(model).exists():
        return teacher
    return f"{kind}{colon}{Path(model).resolve()}"


@contextmanager
def _connected(limits: RayConfig) -> Iterator[None]:
    """Join the cluster; a process that has joined one already stays in it."""
    if ray.is_initialized():
        yield
        return
    for name, value in RAY_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        host, colon, port = limits.address.rpartition(":")
        if colon:  # Ray itself would wait for minutes
            socket.create_connection((host, int(port)), CONNECTION_SECONDS).close()
        ray.init(address=limits.address, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # Ray raises many kinds, a plain Exception among them
        raise UserError(
            f"no Ray cluster answers at {limits.address} ({_first_line(error)}); start one with `ray start --head`, "
            "name its address, or use --ray local."
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0].rstrip(".")
