"""Simulation of a translation of a billion lines by many workers, some of which are slow, and all of which may die.

    python benchmarks/straggling_workers.py benchmarks/results/straggling-workers.json

Time is simulated, so this takes seconds. A worker makes a shard in the time that its lines take, times a factor of its
own and one of the shard (log-normal). Workers die at random, lose the shard that they are making, and are back after a
while. Compared are

- `array`: `--shard I/N`, where shard i belongs to job i % N. A job that dies is started again. The work ends with the
  last job. There are as many jobs as workers.
- `small_jobs`: the same with ten times as many jobs, each of which loads the model.
- `pool`: workers take the next shard when they are ready.
- `ray`: as `pool`, and at the end idle workers make shards a second time that others are late with, as
  `distill/by_text/ray_workers.py` does.

`late` is the time beyond that of equal workers that never die, and `repeated` the share of the work that is done twice.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import statistics
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from maskpredict.distill.by_text.ray_workers import STRAGGLER

HOUR = 3600.0
LOADING_SECONDS = 60.0
"""Start of a small job."""


@dataclass(frozen=True)
class Case:
    """A translation and its machines."""

    lines: int = 1_000_000_000
    lines_per_second: float = 2_533.0
    """Of one worker, such as `de-en-ar` with five beams on an H200."""
    workers: int = 64
    shard_lines: int = 200_000
    slow_share: float = 0.03
    """Share of the workers that are slow."""
    slow_factor: float = 3.0
    """Times as long that these take."""
    jitter: float = 0.1
    """Standard deviation of the logarithm of a shard's time."""
    hours_between_deaths: float = 6.0
    """Mean of one worker; as for machines that may be taken away at any time."""
    seconds_to_return: float = 600.0
    """From a worker's death to the next one that has loaded the model."""

    @property
    def shards(self) -> int:
        """Number of shards."""
        return -(-self.lines // self.shard_lines)

    @property
    def ideal_seconds(self) -> float:
        """Time of equal workers that never die."""
        return self.lines / self.lines_per_second / self.workers


@dataclass(frozen=True)
class Outcome:
    """What became of it."""

    hours: float
    late: float
    """Share of the ideal time that it took longer."""
    repeated: float
    """Share of the work that was done in vain."""
    deaths: int


@dataclass(frozen=True)
class Attempt:
    """A shard that a worker has made, or died over."""

    end: float
    back: float | None = None
    """Time at which it is back after its death; None if it has made the shard."""


class Workers:
    """Speeds and deaths of the workers of one simulation."""

    def __init__(self, case: Case, seed: int) -> None:
        self.case, self.chance = case, random.Random(seed)
        slow = set(self.chance.sample(range(case.workers), round(case.slow_share * case.workers)))
        self.factors = [case.slow_factor if worker in slow else 1.0 for worker in range(case.workers)]
        self.deaths = [self._next_death(0.0) for _ in range(case.workers)]
        self.died, self.wasted = 0, 0.0

    def _next_death(self, now: float) -> float:
        return now + self.chance.expovariate(1 / (self.case.hours_between_deaths * HOUR))

    def seconds(self, worker: int) -> float:
        """Time in which a worker makes a shard."""
        plain = self.case.shard_lines / self.case.lines_per_second
        return plain * self.factors[worker] * self.chance.lognormvariate(0.0, self.case.jitter)

    def attempt(self, worker: int, now: float) -> Attempt:
        """Have a worker make a shard."""
        end = now + self.seconds(worker)
        death = max(now, self.deaths[worker])  # an idle worker's death is noticed with its next shard
        if end <= self.deaths[worker]:
            return Attempt(end)
        self.died += 1
        self.wasted += death - now
        back = death + self.case.seconds_to_return
        self.deaths[worker] = self._next_death(back)
        return Attempt(death, back)

    def outcome(self, end: float) -> Outcome:
        """The outcome of a simulation that ended then."""
        work = self.case.lines / self.case.lines_per_second
        return Outcome(end / HOUR, end / self.case.ideal_seconds - 1, self.wasted / work, self.died)


def array(case: Case, seed: int, jobs: int | None = None) -> Outcome:
    """Jobs with shards of their own, by default one for each worker."""
    workers, count = Workers(case, seed), jobs or case.workers
    ready, end = [(0.0, worker) for worker in range(case.workers)], 0.0
    for job in range(count):
        now, worker = heapq.heappop(ready)
        now += LOADING_SECONDS if jobs else 0.0
        left = len(range(job, case.shards, count))
        while left:
            attempt = workers.attempt(worker, now)
            now = attempt.end if attempt.back is None else attempt.back
            left -= attempt.back is None
        heapq.heappush(ready, (now, worker))
        end = max(end, now)
    return workers.outcome(end)


def small_jobs(case: Case, seed: int) -> Outcome:
    """Ten jobs for each worker."""
    return array(case, seed, 10 * case.workers)


@dataclass(frozen=True, order=True)
class Event:
    """A worker is ready again, has died, or may have become late with a shard."""

    time: float
    number: int
    """Of the event, so that no two are equal."""
    worker: int | None = None
    """The worker that is ready from now on."""
    shard: int | None = None
    """The shard that it was making."""
    started: float = 0.0
    made: bool = False


class Pool:
    """Workers that take the next shard when they are ready."""

    def __init__(self, case: Case, seed: int, *, second_copies: bool) -> None:
        self.workers, self.second_copies = Workers(case, seed), second_copies
        self.waiting, self.missing = deque(range(case.shards)), set(range(case.shards))
        self.idle = list(range(case.workers))
        self.running: dict[int, list[float]] = {}
        """Start of each attempt at a shard."""
        self.seconds, self.made = 0.0, 0
        """That finished shards took together, and their number."""
        self.events: list[Event] = []
        self.count = 0

    def run(self) -> Outcome:
        """Simulate until every shard is made."""
        now = 0.0
        while self.missing:
            self._assign(now)
            event = heapq.heappop(self.events)
            now = event.time
            if event.shard is not None:
                self._end(event, event.shard)
            if event.worker is not None:
                self.idle.append(event.worker)
        self.workers.wasted += sum(now - started for attempts in self.running.values() for started in attempts)
        return self.workers.outcome(now)

    def _end(self, event: Event, shard: int) -> None:
        self.running[shard].remove(event.started)
        if event.made and shard in self.missing:
            self.missing.discard(shard)
            self.seconds += event.time - event.started
            self.made += 1
        elif event.made:
            self.workers.wasted += event.time - event.started
        elif shard in self.missing and not self.running[shard]:
            self.waiting.appendleft(shard)

    def _assign(self, now: float) -> None:
        while self.idle and (shard := self._next_shard(now)) is not None:
            worker = self.idle.pop()
            attempt = self.workers.attempt(worker, now)
            self.running.setdefault(shard, []).append(now)
            self._add(attempt.end, None if attempt.back else worker, shard, now, attempt.back is None)
            if attempt.back is not None:
                self._add(attempt.back, worker)

    def _next_shard(self, now: float) -> int | None:
        if self.waiting:
            return self.waiting.popleft()
        if not self.second_copies or not self.made:
            return None
        patience = STRAGGLER * self.seconds / self.made
        alone = {own[0]: shard for shard, own in self.running.items() if len(own) == 1 and shard in self.missing}
        if not alone:
            return None
        first = min(alone)
        if first + patience > now:
            self._add(first + patience)  # look again then
            return None
        return alone[first]

    def _add(
        self, time: float, worker: int | None = None, shard: int | None = None, started: float = 0.0, made: bool = False
    ) -> None:
        self.count += 1
        heapq.heappush(self.events, Event(time, self.count, worker, shard, started, made))


def pool(case: Case, seed: int) -> Outcome:
    """Each shard is given to one worker at a time."""
    return Pool(case, seed, second_copies=False).run()


def on_ray(case: Case, seed: int) -> Outcome:
    """Idle workers make late shards a second time."""
    return Pool(case, seed, second_copies=True).run()


WAYS: dict[str, Callable[[Case, int], Outcome]] = {
    "array": array,
    "small_jobs": small_jobs,
    "pool": pool,
    "ray": on_ray,
}


def main() -> None:
    """Simulate each way for several sizes of shards and numbers of workers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    cases = [replace(Case(), slow_factor=factor, shard_lines=lines) for factor in SLOW for lines in SHARD_LINES]
    rows = []
    for case in cases:
        row: dict[str, Any] = {"slow_factor": case.slow_factor, "shard_lines": case.shard_lines}
        row |= {"shards": case.shards, "ideal_hours": case.ideal_seconds / HOUR}
        for name, way in WAYS.items():
            outcomes = [way(case, seed) for seed in range(arguments.seeds)]
            means = {field: statistics.fmean(getattr(one, field) for one in outcomes) for field in FIELDS}
            row[name] = {**means, "latest": max(one.late for one in outcomes)}
        print(row, flush=True)
        rows.append(row)
    result = {"assumptions": asdict(Case()), "seeds": arguments.seeds, "rows": rows}
    arguments.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


SLOW = (3.0, 50.0)
"""Slow machines, and machines that all but hang."""
SHARD_LINES = (20_000, 200_000, 2_000_000)
FIELDS = ("hours", "late", "repeated", "deaths")


if __name__ == "__main__":
    main()
