"""The story of a distillation: translate the missing shards, then merge them all.

Under torchrun shard i belongs to worker i % workers. They share the file system and need no other messages than
"I am here".
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import torch

from maskpredict.corpus.dataset import Dataset
from maskpredict.decoding.hypothesis import Request
from maskpredict.distill.choice import CHOICES, Ids
from maskpredict.distill.config import DistillConfig
from maskpredict.distill.merge import Counts, finished_counts, merge
from maskpredict.distill.recipe import Recipe
from maskpredict.distill.shards import Shards
from maskpredict.distill.teacher import load_teacher
from maskpredict.progress import Progress, Task
from maskpredict.runtime.batching import batches
from maskpredict.runtime.translator import BATCH_TOKENS
from maskpredict.training.parallel import Workers, workers

SECONDS_BETWEEN_LOOKS = 0.2
"""While waiting for the other workers' shards."""
GPU_BATCH_TOKENS, GPU_BATCHES_AT_ONCE = 500_000, 2
"""Thousands of sentences at once: a step costs a GPU about the same for a hundred. Takes some 60 GB."""


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
    work = _Work(config)
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


class _Work:
    """Everything that one worker holds."""

    def __init__(self, config: DistillConfig) -> None:
        self.deadline = time.monotonic() + config.seconds if config.seconds is not None else None
        self.config, self.dataset = config, Dataset(config.data)
        self.train = self.dataset.split("train")
        self.teacher = load_teacher(config, self.dataset)
        self.on_gpu = self.teacher.system.device.type == "cuda"
        self.budget = config.batch_tokens or (GPU_BATCH_TOKENS if self.on_gpu else BATCH_TOKENS["cpu"])
        self.idle_streams: SimpleQueue[torch.cuda.Stream] = SimpleQueue()
        if self.on_gpu:
            torch.cuda.synchronize()  # the weights are there before other streams read them
            # The same few for all batches: what one stream has freed, PyTorch gives to no other.
            for _ in range(GPU_BATCHES_AT_ONCE):
                self.idle_streams.put(torch.cuda.Stream())
        self.recipe = Recipe.of(config, self.dataset, self.teacher)
        vocab_size = self.dataset.description.vocab_size.target
        self.shards = Shards(config.out, self.recipe, len(self.train), vocab_size)

    @property
    def out_of_time(self) -> bool:
        """True when the call is to end."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def go_on(self, team: Workers, progress: Progress) -> Counts | None:
        """Make this worker's missing shards, then, if all are there, the data folder."""
        if team.first:
            self.shards.open()
        team.wait()
        self._make(self.shards.missing(team.rank, team.size), progress)
        while self.shards.missing() and not self.out_of_time:
            time.sleep(SECONDS_BETWEEN_LOOKS)  # a barrier would give up after a while
        team.wait()
        if self.shards.missing():
            return None
        if team.first:
            merge(self.dataset, self.shards, self.teacher.longest_source, self.config.out)
        team.wait()
        return finished_counts(self.config.out, self.recipe)

    def _make(self, missing: list[int], progress: Progress) -> None:
        task = progress.task("Distilling", total=sum(len(self.shards.ranges[shard]) for shard in missing))
        speed = _Speed()
        for made, shard in enumerate(missing):
            translations = self._translate(self.shards.ranges[shard], task, speed)
            if translations is None:
                if made == 0:
                    logging.getLogger(__name__).warning(
                        "No shard was finished in %g seconds; allow more, or smaller shards (shard_pairs).",
                        self.config.seconds,
                    )
                return
            self.shards.write(shard, translations)
        task.finish()

    def _translate(self, pairs: range, task: Task, speed: _Speed) -> list[list[Ids]] | None:
        """What the teacher makes of these sources, or None if time runs out; one it cannot read gets nothing."""
        system, longest = self.teacher.system, self.teacher.longest_source
        readable = [pair for pair in pairs if self.train.source.lengths[pair] < longest]
        requests = [Request((*self.train.source[pair].tolist(), system.special.eos)) for pair in readable]
        together = list(
            batches(requests, self.teacher.settings, self.budget, "tokens", slot=system.reserves_slot, mixed=False)
        )
        chosen: dict[int, list[Ids]] = {}
        with closing(self._translated([[requests[index] for index in batch] for batch in together])) as translated:
            for batch, found in zip(together, translated, strict=True):
                if found is None:
                    return None
                for index, translations in zip(batch, found, strict=True):
                    chosen[readable[index]] = self._choose(readable[index], translations)
                task.advance(len(batch), speed=speed.after(len(batch)))
        task.advance(len(pairs) - len(readable))
        return [chosen.get(pair, []) for pair in pairs]

    def _translated(self, groups: list[list[Request]]) -> Generator[list[list[Ids]] | None, None, None]:
        """The translations of each group in turn; None once the time is over.

        A GPU works on several groups side by side: while one waits for the program, another has work for it.
        """

        def translate(group: list[Request]) -> list[list[Ids]] | None:
            with self._own_stream():
                return None if self.out_of_time else self._translate_batch(group)

        pool = ThreadPoolExecutor(GPU_BATCHES_AT_ONCE if self.on_gpu else 1)
        try:
            yield from pool.map(translate, groups)
        finally:
            pool.shutdown(cancel_futures=True)

    @contextmanager
    def _own_stream(self) -> Iterator[None]:
        """Compute where no other thread does."""
        if not self.on_gpu:
            yield
            return
        stream = self.idle_streams.get()
        try:
            with torch.cuda.stream(stream):
                yield
        finally:
            self.idle_streams.put(stream)

    def _translate_batch(self, requests: list[Request]) -> list[list[Ids]]:
        """Translate these together, or in halves if there is too little memory."""
        try:
            return self.teacher.translate(requests)
        except torch.OutOfMemoryError:
            if len(requests) == 1:
                raise
            self.budget = max(1, self.budget // 2)
            logging.getLogger(__name__).warning(
                "A batch of %d sentences did not fit the memory; going on with half (batch_tokens=%d).",
                len(requests),
                self.budget,
            )
        half = len(requests) // 2
        return [*self._translate_batch(requests[:half]), *self._translate_batch(requests[half:])]

    def _choose(self, pair: int, translations: list[Ids]) -> list[Ids]:
        said = [ids for ids in translations if ids]  # an end mark alone is no translation
        return CHOICES[self.config.choose](said, self.train.target[pair].tolist())


class _Speed:
    """Sentences per second since the start."""

    def __init__(self) -> None:
        self.started, self.sentences = time.monotonic(), 0

    def after(self, sentences: int) -> str:
        """The speed, some more sentences being done."""
        self.sentences += sentences
        return f"{self.sentences / (time.monotonic() - self.started):,.0f}/s"
