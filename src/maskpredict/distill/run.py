"""The steps of a distillation: translate the missing shards, then merge them all.

Shard i belongs to process i % processes. Processes that torchrun starts share the file system and exchange nothing but
barriers; each may start further processes on its GPU.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from maskpredict.corpus.dataset import Dataset
from maskpredict.decoding.hypothesis import Request
from maskpredict.distill.choice import CHOICES, Ids
from maskpredict.distill.config import DistillConfig
from maskpredict.distill.merge import Counts, finished_counts, merge
from maskpredict.distill.provenance import Provenance
from maskpredict.distill.shards import Shards
from maskpredict.distill.teacher import load_teacher
from maskpredict.distill.throughput import Throughput
from maskpredict.distill.worker_process import WorkerProcess
from maskpredict.progress import Progress
from maskpredict.runtime.batching import batches
from maskpredict.runtime.out_of_memory import start_splitting
from maskpredict.training.distributed import ProcessGroup, join_process_group

POLL_SECONDS = 0.2
"""Interval of checking for the shards of other processes."""
GPU_PROCESSES = 2
"""One process alone is limited by the CPU time of launching kernels."""


@dataclass(frozen=True)
class DistillReport:
    """Outcome of a call of `distill`."""

    finished: bool
    """False when its time was up; the same call continues."""
    out: Path
    shards: int
    shards_done: int
    counts: Counts | None
    """Pair counts of the finished data folder; None while unfinished."""


def distill(config: DistillConfig, *, quiet: bool = False) -> DistillReport:
    """Make the data folder `config.out`, or continue making it."""
    if config.threads:
        torch.set_num_threads(config.threads)
    distillation = Distillation(config)
    shards = distillation.shards
    # Only barriers are used, so gloo on the CPU is enough even where teachers run on GPUs.
    with join_process_group(torch.device("cpu")) as group, Progress(quiet=quiet or not group.is_main) as progress:
        counts = finished_counts(config.out, distillation.provenance)
        if counts is None:
            counts = distillation.translate_and_merge(group, progress)
        if counts is not None and group.is_main:
            shards.remove()
    done = len(shards) if counts else len(shards) - len(shards.missing())
    return DistillReport(counts is not None, config.out, len(shards), done, counts)


class Distillation:
    """Dataset, teacher and shards of one process."""

    def __init__(self, config: DistillConfig) -> None:
        self.deadline = time.monotonic() + config.seconds if config.seconds is not None else None
        self.config, self.dataset = config, Dataset(config.data)
        self.train = self.dataset.split("train")
        self.teacher = load_teacher(config, self.dataset)
        self.on_gpu = self.teacher.decoder.engine.device.startswith("cuda")
        self.budget = config.batch_tokens or self.teacher.batch_tokens
        self.processes = config.processes or (GPU_PROCESSES if self.on_gpu else 1)
        self.provenance = Provenance.of(config, self.dataset, self.teacher)
        vocab_size = self.dataset.description.vocab_size.target
        self.shards = Shards(config.out, self.provenance, len(self.train), vocab_size)

    @property
    def out_of_time(self) -> bool:
        """True if the time limit has passed."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def translate_and_merge(self, group: ProcessGroup, progress: Progress) -> Counts | None:
        """Make the missing shards of this process and those it starts, then, when all exist, the data folder."""
        if group.is_main:
            self.shards.open()
            self.shards.remove_damaged()
        group.barrier()
        every = group.world_size * self.processes
        indices = range(group.rank * self.processes, (group.rank + 1) * self.processes)
        missing = [shard for index in indices for shard in self.shards.missing(index, every)]
        sentences = sum(len(self.shards.ranges[shard]) for shard in missing)
        throughput = Throughput(progress.task("Distilling", total=sentences))
        with ExitStack() as stack:
            left = replace(self.config, seconds=max(0.0, self.deadline - time.monotonic()) if self.deadline else None)
            workers = [stack.enter_context(WorkerProcess(left, i, every, throughput.add)) for i in indices[1:]]
            self.make(indices[0], every, throughput.add)
            while self.shards.missing() and not self.out_of_time:
                time.sleep(POLL_SECONDS)  # a barrier would time out
                for worker in workers:
                    worker.check()
        group.barrier()
        if self.shards.missing():
            return None
        throughput.task.finish()
        if group.is_main:
            merge(self.dataset, self.shards, self.teacher.longest_source, self.config.out)
        group.barrier()
        return finished_counts(self.config.out, self.provenance)

    def make(self, index: int, every: int, report: Callable[[int], None]) -> None:
        """Make those of the shards `index`, `index + every`, ... that are missing; `report` gets each batch size."""
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
        """Chosen translations of these sources, or None when time is up; a source too long for the teacher has none."""
        decoder, longest = self.teacher.decoder, self.teacher.longest_source
        readable = [pair for pair in pairs if self.train.source.lengths[pair] < longest]
        requests = [Request((*self.train.source[pair].tolist(), decoder.engine.special.eos)) for pair in readable]
        every = batches(requests, self.teacher.settings, decoder, self.budget, "tokens")
        chosen: dict[int, list[Ids]] = {}
        for batch in every:
            if self.out_of_time:
                return None
            together = [requests[index] for index in batch]
            translated = start_splitting(self.teacher.start, together, decoder.engine, self._make_smaller_batches)()
            for index, translations in zip(batch, translated, strict=True):
                chosen[readable[index]] = self._choose(readable[index], translations)
            report(len(batch))
        report(len(pairs) - len(readable))
        return [chosen.get(pair, []) for pair in pairs]

    def _make_smaller_batches(self) -> None:
        self.budget = max(1, self.budget // 2)  # from the next shard on

    def _choose(self, pair: int, translations: list[Ids]) -> list[Ids]:
        not_empty = [ids for ids in translations if ids]  # an end mark alone is no translation
        return CHOICES[self.config.choose](not_empty, self.train.target[pair].tolist())
