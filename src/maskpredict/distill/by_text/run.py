"""The steps of a distillation by text: split the sources into shards, translate and filter each, merge them all.

Shard i belongs to call i % N of an array of N (`shard`), or to process i % N of those that torchrun starts, and within
it to one of the processes on its device. They share the file system and nothing else.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from maskpredict.corpus.dataset import DatasetDescription
from maskpredict.corpus.reading import Pair, printable
from maskpredict.distill.by_text.config import TextDistillConfig
from maskpredict.distill.by_text.filters import Dropped, TranslationFilter
from maskpredict.distill.by_text.merge import finished_report, merge
from maskpredict.distill.by_text.report import TextDistillReport
from maskpredict.distill.by_text.shard_files import ShardFiles, pack_shard, unpack_sources
from maskpredict.distill.by_text.shards import RECIPE_FILE, TextShards, split
from maskpredict.distill.by_text.sources import SourceCorpus, provenance, source_corpora
from maskpredict.distill.choice import closest_text
from maskpredict.distill.provenance import difference
from maskpredict.distill.teachers import ScoredText, TeacherConfig, TextTeacher, open_teacher, teacher_digest
from maskpredict.distill.throughput import Throughput
from maskpredict.distill.worker_process import WorkerProcess
from maskpredict.engines.devices import find_device
from maskpredict.errors import UserError
from maskpredict.extras import require
from maskpredict.progress import Progress, Task

POLL_SECONDS = 0.2
"""Interval of checking for the shards of other processes."""
OUR_GPU_PROCESSES = 2
"""One process with our beam search is limited by the CPU time of launching kernels."""


def distill_text(config: TextDistillConfig, *, quiet: bool = False) -> TextDistillReport:
    """Make the folder `config.out`, or continue making it."""
    config = _with_languages(config)
    corpora = source_corpora(config)
    origin = provenance(config, teacher_digest(config), corpora)
    if report := finished_report(config.out, origin):
        _remove_shards(config)
        return report
    distillation = TextDistillation(config)
    with Progress(quiet=quiet or not is_main()) as progress:
        distillation.split(origin, corpora, progress)
        report = distillation.translate_and_merge(progress)
    if report.finished:
        _remove_shards(config)
    return report


def shards_folder(out: Path) -> Path:
    """Folder of the shards of a distillation."""
    return out.with_name(f"{out.name}.shards")


class TextDistillation:
    """Teacher, filters and shards of one process."""

    def __init__(self, config: TextDistillConfig) -> None:
        self.deadline = time.monotonic() + config.seconds if config.seconds is not None else None
        self.config = config

    @cached_property
    def teacher(self) -> TextTeacher:
        """The teacher, loaded on first use."""
        return open_teacher(self.config)

    @cached_property
    def shards(self) -> TextShards:
        """The shards into which the text was split."""
        return TextShards.read(shards_folder(self.config.out))

    @cached_property
    def filter(self) -> TranslationFilter:
        """The filters, with the model of the backward score."""
        reverse = self.config.filters.reverse
        return TranslationFilter(self.config, open_teacher(_reversed(self.config, reverse)) if reverse else None)

    @property
    def out_of_time(self) -> bool:
        """True if the time limit has passed."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def split(self, origin: dict[str, Any], corpora: list[SourceCorpus], progress: Progress) -> None:
        """Split the text, unless an earlier call or another machine has; that must have had the same provenance."""
        folder = shards_folder(self.config.out)
        if not (folder / RECIPE_FILE).exists():
            if self.config.ray is None:
                _ = self.teacher  # one that cannot translate is refused before the text is read
            task = progress.task("Reading the text")
            split(folder, origin, corpora, self.config, task)
            task.finish()
        if changed := difference(self.shards.provenance, origin):
            raise UserError(
                f"{folder} was begun with {changed}; "
                "continue with the old value, choose another `out`, or delete that folder to start again."
            )

    def translate_and_merge(self, progress: Progress) -> TextDistillReport:
        """Make the missing shards of this call, then, when all exist, the folder."""
        first, jobs = self.config.first_and_job_count
        if self.config.ray is None:
            task = self._make_here(first, jobs, progress)
        else:
            task = self._make_on_ray(first, jobs, progress)
        missing = len(self.shards.missing())
        if not missing and not self.config.shard:
            task.finish()
            return self._merged()
        return TextDistillReport(False, self.config.out, len(self.shards), len(self.shards) - missing)

    def _make_on_ray(self, first: int, jobs: int, progress: Progress) -> Task:
        """Make the missing ones of the shards `first`, `first + jobs`, ... on a Ray cluster."""
        require("ray", "--ray")
        from maskpredict.distill.by_text.ray_workers import RayWorkers

        self.shards.remove_damaged(first, jobs)
        missing = self.shards.missing(first, jobs)
        task = progress.task("Distilling", total=sum(self.shards.sizes[shard] for shard in missing))
        if missing:
            RayWorkers(self.config, self.shards, Throughput(task).add).make(missing, self.deadline)
            if self.out_of_time and self.shards.missing(first, jobs) == missing:
                self._warn_of_short_time()
        return task

    def _make_here(self, first: int, jobs: int, progress: Progress) -> Task:
        """Make them in processes on this machine; under torchrun, each has a share of them."""
        rank, world_size = (
            int(os.environ.get(name, default)) for name, default in (("RANK", "0"), ("WORLD_SIZE", "1"))
        )
        processes = self.config.processes or self._suitable_processes()
        every = jobs * world_size * processes
        indices = [first + jobs * (rank * processes + index) for index in range(processes)]
        for index in indices:
            self.shards.remove_damaged(index, every)
        shards = [shard for index in indices for shard in self.shards.missing(index, every)]
        task = progress.task("Distilling", total=sum(self.shards.sizes[shard] for shard in shards))
        throughput = Throughput(task)
        with ExitStack() as stack:
            left = replace(self.config, seconds=max(0.0, self.deadline - time.monotonic()) if self.deadline else None)
            workers = [stack.enter_context(WorkerProcess(left, i, every, throughput.add)) for i in indices[1:]]
            self.make(indices[0], every, throughput.add)
            while self._awaited(shards, world_size) and not self.out_of_time:
                time.sleep(POLL_SECONDS)
                for worker in workers:
                    worker.check()
        return task

    def make(self, index: int, every: int, report: Callable[[int], None]) -> None:
        """Make those of the shards `index`, `index + every`, ... that are missing; `report` gets each batch size."""
        for made, shard in enumerate(self.shards.missing(index, every)):
            if self.shards.is_made(shard):  # by another process, meanwhile
                continue
            files = self.make_files(self.shards.sources(shard), report)
            if files is None:
                if made == 0:
                    self._warn_of_short_time()
                return
            self.shards.write(shard, files)

    def make_files(self, sources: ShardFiles, report: Callable[[int], None]) -> ShardFiles | None:
        """The files of a finished shard, from those of its sources; None when time is up."""
        pairs, dropped = unpack_sources(sources), Counter[Dropped]()
        translations = self._translate([pair.source for pair in pairs], report)
        if translations is None:
            return None
        choose = self._first_of_each if self.config.every_line else self._kept
        return pack_shard(choose(pairs, translations, dropped), dropped, self.config.compression)

    def _warn_of_short_time(self) -> None:
        if self.config.seconds:  # 0 is to split the text and no more
            logging.getLogger(__name__).warning(
                "No shard was finished in %g seconds; allow more, or smaller shards (shard_lines).", self.config.seconds
            )

    def _translate(self, lines: list[str], report: Callable[[int], None]) -> dict[int, list[ScoredText]] | None:
        """Translations of lines by index, or None when time is up; empty lines and those too long have none."""
        translations: dict[int, list[ScoredText]] = {}
        if self.out_of_time:
            return None
        places = [index for index, line in enumerate(lines) if line.strip()]
        for batch in self.teacher.translate([lines[index] for index in places]):
            translations.update({places[index]: texts for index, texts in batch.items()})
            report(len(batch))
            if self.out_of_time and len(translations) < len(places):
                return None
        report(len(lines) - len(translations))
        return translations

    def _kept(
        self, pairs: list[Pair], translations: dict[int, list[ScoredText]], dropped: Counter[Dropped]
    ) -> list[Pair]:
        """The chosen ones of the translations that pass the filters."""
        dropped[Dropped.NOT_TRANSLATED] += sum(not translations.get(index) for index in range(len(pairs)))
        candidates = [
            [ScoredText(printable(one.text).strip(), one.score) for one in translations.get(index, [])]
            for index in range(len(pairs))
        ]
        good = self.filter.keep([pair.source for pair in pairs], candidates, dropped)
        return [
            Pair(pair.source, text)
            for pair, texts in zip(pairs, good, strict=True)
            for text in self._choose([one.text for one in texts], pair.target)
        ]

    def _first_of_each(
        self, pairs: list[Pair], translations: dict[int, list[ScoredText]], dropped: Counter[Dropped]
    ) -> list[Pair]:
        """Every source with its best translation, or none."""
        best = [next((printable(text.text) for text in translations.get(i, [])), "") for i in range(len(pairs))]
        dropped[Dropped.EMPTY_SOURCE] = sum(not pair.source.strip() for pair in pairs)
        dropped[Dropped.NOT_TRANSLATED] = best.count("") - dropped[Dropped.EMPTY_SOURCE]
        return [Pair(pair.source, text) for pair, text in zip(pairs, best, strict=True)]

    def _choose(self, texts: list[str], reference: str) -> list[str]:
        if self.config.choose == "closest":
            return closest_text(texts, reference)
        return texts[:1] if self.config.choose == "best" else list(dict.fromkeys(texts))

    def _suitable_processes(self) -> int:
        if self.config.kind or find_device(self.config.device) == "cpu":
            return 1
        return OUR_GPU_PROCESSES

    def _awaited(self, shards: list[int], world_size: int) -> bool:
        """Return whether shards are missing that processes of this call make: the workers', or under torchrun all."""
        missing = set(self.shards.missing())
        return bool(missing if world_size > 1 and is_main() else missing & set(shards))

    def _merged(self) -> TextDistillReport:
        if is_main():
            merge(self.config, self.shards)
        while (report := finished_report(self.config.out, self.shards.provenance)) is None:
            time.sleep(POLL_SECONDS)
        return report


def _reversed(config: TextDistillConfig, model: str) -> TeacherConfig:
    """The model of the backward score: the opposite direction, on the same device."""
    return TeacherConfig(
        teacher=model,
        source_language=config.target_language,
        target_language=config.source_language,
        source_code=config.target_code,
        target_code=config.source_code,
        max_tokens=config.max_tokens,
        device=config.device,
        compute_type=config.compute_type,
        threads=config.threads,
    )


def _with_languages(config: TextDistillConfig) -> TextDistillConfig:
    """The configuration with the languages of its data folder."""
    if config.data is None:
        return config
    languages = DatasetDescription.read(config.data).languages
    given = (config.source_language or languages.source, config.target_language or languages.target)
    if given != (languages.source, languages.target):
        raise UserError(f"the data is {languages}, not {given[0]} to {given[1]}; leave the languages out.")
    return replace(config, source_language=languages.source, target_language=languages.target)


def _remove_shards(config: TextDistillConfig) -> None:
    if is_main():
        shutil.rmtree(shards_folder(config.out), ignore_errors=True)


def is_main() -> bool:
    """Whether this process reports for all that torchrun started; True without torchrun."""
    return os.environ.get("RANK", "0") == "0"
