"""The story of a distillation: translate the missing shards, then merge them all.

Shard i belongs to process i % processes. Those of torchrun share the file system and need no other messages than
"I am here"; each may have companions on its own GPU.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from maskpredict.corpus.dataset import Dataset
from maskpredict.decoding.hypothesis import Request
from maskpredict.distill.choice import CHOICES, Ids
from maskpredict.distill.companion import Companion
from maskpredict.distill.config import DistillConfig
from maskpredict.distill.merge import Counts, finished_counts, merge
from maskpredict.distill.recipe import Recipe
from maskpredict.distill.shards import Shards
from maskpredict.distill.teacher import load_teacher
from maskpredict.progress import Progress, Task
from maskpredict.runtime.batching import CPU_BATCH_TOKENS, batches
from maskpredict.runtime.halving import in_halves_if_needed
from maskpredict.training.parallel import Workers, workers

SECONDS_BETWEEN_LOOKS = 0.2
"""While waiting for the other workers' shards."""
GPU_BATCH_TOKENS = 500_000
"""Thousands of sentences at once: a step costs a GPU about the same for a hundred. Takes some 50 GB a process."""
GPU_PROCESSES = 2
"""One process alone takes about as long to tell a GPU what to do as the GPU takes to do it."""


@dataclass(frozen=True)
class DistillReport:
    """How a call of `distill` ended."""

    finished: bool
    """False when its time was over; the same call continues."""
    out: Path
    shards: int
    shards_done: int
    counts: Counts | None
    """What became of the training pairs; None while unfinished."""


def distill(config: DistillConfig, *, quiet: bool = False) -> DistillReport:
    """Make the data folder `config.out`, or go on with making it."""
    if config.threads:
        torch.set_num_threads(config.threads)
    work = Work(config)
    shards = work.shards
    # Nothing but presence is exchanged, so the workers talk over the CPU even where they compute on GPUs.
    with workers(torch.device("cpu")) as team, Progress(quiet=quiet or not team.first) as progress:
        counts = finished_counts(config.out, work.recipe)
        if counts is None:
            counts = work.go_on(team, progress)
        if counts is not None and team.first:
            shards.remove()
    done = len(shards) if counts else len(shards) - len(shards.missing())
    return DistillReport(counts is not None, config.out, len(shards), done, counts)


class Work:
    """Everything that one worker holds."""

    def __init__(self, config: DistillConfig) -> None:
        self.deadline = time.monotonic() + config.seconds if config.seconds is not None else None
        self.config, self.dataset = config, Dataset(config.data)
        self.train = self.dataset.split("train")
        self.teacher = load_teacher(config, self.dataset)
        self.on_gpu = self.teacher.system.device.type == "cuda"
        self.budget = config.batch_tokens or (GPU_BATCH_TOKENS if self.on_gpu else CPU_BATCH_TOKENS)
        self.processes = config.processes or (GPU_PROCESSES if self.on_gpu else 1)
        self.recipe = Recipe.of(config, self.dataset, self.teacher)
        vocab_size = self.dataset.description.vocab_size.target
        self.shards = Shards(config.out, self.recipe, len(self.train), vocab_size)

    @property
    def out_of_time(self) -> bool:
        """True when the call is to end."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def go_on(self, team: Workers, progress: Progress) -> Counts | None:
        """Make the missing shards of this worker and its companions, then, if all are there, the data folder."""
        if team.first:
            self.shards.open()
        team.wait()
        every = team.size * self.processes
        own = range(team.rank * self.processes, (team.rank + 1) * self.processes)
        missing = [shard for index in own for shard in self.shards.missing(index, every)]
        tally = _Tally(progress.task("Distilling", total=sum(len(self.shards.ranges[shard]) for shard in missing)))
        with ExitStack() as stack:
            left = replace(self.config, seconds=max(0.0, self.deadline - time.monotonic()) if self.deadline else None)
            companions = [stack.enter_context(Companion(left, index, every, tally.add)) for index in own[1:]]
            self.make(own[0], every, tally.add)
            while self.shards.missing() and not self.out_of_time:
                time.sleep(SECONDS_BETWEEN_LOOKS)  # a barrier would give up after a while
                for companion in companions:
                    companion.check()
        team.wait()
        if self.shards.missing():
            return None
        tally.task.finish()
        if team.first:
            merge(self.dataset, self.shards, self.teacher.longest_source, self.config.out)
        team.wait()
        return finished_counts(self.config.out, self.recipe)

    def make(self, index: int, every: int, report: Callable[[int], None]) -> None:
        """Make the missing ones of the shards `index`, `index + every`, ..., reporting the sentences of each batch."""
        for made, shard in enumerate(self.shards.missing(index, every)):
            translations = self._translate(self.shards.ranges[shard], report)
            if translations is None:
                if made == 0:
                    logging.getLogger(__name__).warning(
                        "No shard was finished in %g seconds; allow more, or smaller shards (shard_pairs).",
                        self.config.seconds,
                    )
                return
            self.shards.write(shard, translations)

    def _translate(self, pairs: range, report: Callable[[int], None]) -> list[list[Ids]] | None:
        """What the teacher makes of these sources, or None if time runs out; one it cannot read gets nothing."""
        system, longest = self.teacher.system, self.teacher.longest_source
        readable = [pair for pair in pairs if self.train.source.lengths[pair] < longest]
        requests = [Request((*self.train.source[pair].tolist(), system.special.eos)) for pair in readable]
        slot = system.reserves_slot
        every = batches(requests, self.teacher.settings, self.budget, "tokens", slot=slot, sharing="same width")
        chosen: dict[int, list[Ids]] = {}
        for batch in every:
            if self.out_of_time:
                return None
            together = [requests[index] for index in batch]
            found = in_halves_if_needed(self.teacher.start, together, self._make_smaller_batches)()
            for index, translations in zip(batch, found, strict=True):
                chosen[readable[index]] = self._choose(readable[index], translations)
            report(len(batch))
        report(len(pairs) - len(readable))
        return [chosen.get(pair, []) for pair in pairs]

    def _make_smaller_batches(self) -> None:
        self.budget = max(1, self.budget // 2)  # from the next shard on

    def _choose(self, pair: int, translations: list[Ids]) -> list[Ids]:
        said = [ids for ids in translations if ids]  # an end mark alone is no translation
        return CHOICES[self.config.choose](said, self.train.target[pair].tolist())


class _Tally:
    """What all processes have done, shown with its speed."""

    def __init__(self, task: Task) -> None:
        self.task, self.started, self.sentences = task, time.monotonic(), 0
        self.in_use = threading.Lock()  # a companion's reports come from a thread of their own

    def add(self, sentences: int) -> None:
        """Count some more."""
        with self.in_use:
            self.sentences += sentences
            self.task.advance(sentences, speed=f"{self.sentences / (time.monotonic() - self.started):,.0f}/s")
