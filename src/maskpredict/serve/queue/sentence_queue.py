"""Sentences that wait to be computed, and which of them go together next.

Requests take turns, sentence by sentence: the first sentence of a new request stands right behind those that others
have next, not behind all that a long text has left. Only sentences of one model and one group of settings share a
batch, and of those only the ones whose lengths may (`systems.base.Sharing`).
"""

from __future__ import annotations

import asyncio
import time
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Condition
from typing import Any

from maskpredict.runtime.batching import batch_key
from maskpredict.runtime.lines import Line
from maskpredict.runtime.translation import Translation
from maskpredict.serve.queue.models import ServedModel

Settings = tuple[tuple[str, Any], ...]
Outcome = Translation | Exception
"""An exception is handed over like a result: one that nobody asks for any more must not end up in a log."""


@dataclass(eq=False)
class Job:
    """One sentence on its way."""

    model: ServedModel
    line: Line
    settings: Settings
    """Decoding settings as pairs, so that equal ones can be told."""
    tokens: int
    """Source subwords."""
    future: asyncio.Future[Outcome]
    """Belongs to the event loop; cancelled when nobody waits for the outcome any more."""
    turn: int = 0
    arrived: float = field(default_factory=time.monotonic)

    @cached_property
    def company(self) -> tuple[object, ...]:
        """Jobs with the same company may be computed together."""
        policy = self.model.translator.engine.batch_policy
        return self.model.name, self.settings, batch_key(self.model.width(self.tokens), policy)

    @cached_property
    def cost(self) -> int:
        """What it adds to a batch: padded source width times target drafts."""
        settings = dict(self.settings)
        return self.model.width(self.tokens) * settings.get("length_candidates", settings.get("beam_size", 1))


class QueueFull(Exception):
    """More sentences wait than may."""


class SentenceQueue:
    """Filled by the event loop, emptied by the thread that computes."""

    def __init__(self, most: int, batch_tokens: int, batch_seconds: float) -> None:
        self.most, self.batch_tokens, self.batch_seconds = most, batch_tokens, batch_seconds
        self._waiting: list[Job] = []
        self._turn = 0
        self._closed = False
        self._changed = Condition()

    def __len__(self) -> int:
        """Sentences that wait and are still wanted."""
        with self._changed:
            self._drop_unwanted()
            return len(self._waiting)

    def put(self, jobs: Sequence[Job]) -> None:
        """Add the sentences of one request, all or none; one that finds the queue empty is never too long."""
        with self._changed:
            self._drop_unwanted()
            if self._waiting and len(self._waiting) + len(jobs) > self.most:
                raise QueueFull
            for place, job in enumerate(jobs, 1):
                job.turn = self._turn + place
                insort(self._waiting, job, key=lambda other: other.turn)
            self._changed.notify()

    def take(self) -> list[Job]:
        """The next batch, as soon as there is one; empty when the queue is closed and done."""
        with self._changed:
            while True:
                self._drop_unwanted()
                if not self._waiting and self._closed:
                    return []
                if not self._waiting:
                    self._changed.wait()
                elif (patience := self._patience()) > 0:
                    self._changed.wait(patience)
                else:
                    return self._next_batch()

    def close(self) -> None:
        """Let `take` come to an end once everything that waits is done."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _patience(self) -> float:
        """Seconds to wait for company."""
        if self._closed or sum(job.cost for job in self._waiting) >= self.batch_tokens:
            return 0.0
        return min(job.arrived for job in self._waiting) + self.batch_seconds - time.monotonic()

    def _next_batch(self) -> list[Job]:
        first = self._waiting[0]
        self._turn = first.turn
        batch, rest, cost = [], [], 0
        for job in self._waiting:
            if job.company == first.company and (job is first or cost + job.cost <= self.batch_tokens):
                batch.append(job)
                cost += job.cost
            else:
                rest.append(job)
        self._waiting = rest
        return batch

    def _drop_unwanted(self) -> None:
        self._waiting = [job for job in self._waiting if not job.future.cancelled()]
