"""Race of two ways to distil from the same teacher: by ids, and by text.

Both translate the same sentences with the same beam search, in turns. Loading the teacher is not timed. By ids, sources
were split into subwords before; by text, reading, subwords, filters, detokenizing and compression are timed.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from maskpredict.bench.config import BenchConfig
from maskpredict.bench.distillation_result import DistillationResult, Run, overheads, ways
from maskpredict.bench.machine import BackgroundLoad, describe_machine
from maskpredict.bench.workload import built_in_sentences, choose_sentences
from maskpredict.corpus.cleaning import CleaningConfig
from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig, printable, read_lines
from maskpredict.corpus.vocabulary import VocabularyConfig
from maskpredict.distill.by_text import TextConfig, TextDistillConfig
from maskpredict.distill.by_text.run import TextDistillation
from maskpredict.distill.by_text.sources import provenance, source_corpora
from maskpredict.distill.config import DistillConfig
from maskpredict.distill.run import Distillation
from maskpredict.distill.teachers import teacher_digest
from maskpredict.engines import default_threads
from maskpredict.engines.devices import find_device
from maskpredict.errors import UserError
from maskpredict.evaluate.reference_set import Lines, ReferenceSet
from maskpredict.model.folder import ModelFolder
from maskpredict.progress import Progress, Task
from maskpredict.runtime.find_model import find_model
from maskpredict.systems.autoregressive import Autoregressive
from maskpredict.training.distributed import join_process_group


def race_distillation(config: BenchConfig, source: Path | None, *, quiet: bool = True) -> DistillationResult:
    """Distil sentences of a file, or the built-in ones, with `config.teacher` and each of `config.beams`."""
    if not config.beams:
        raise UserError("a race of distillations needs a beam size, such as 5.")
    folder = find_model(config.teacher)
    teacher = ModelFolder.read(folder)
    if teacher.system != Autoregressive.name:
        raise UserError(f"the teacher {folder} is a {teacher.system} model; give an autoregressive one.")
    test_set = _different_lines(source) if source else built_in_sentences(teacher.languages)
    longest = teacher.config.max_positions - 2
    workload = choose_sentences(test_set, teacher.tokenizers.source, longest, config)
    background_load = BackgroundLoad()
    with tempfile.TemporaryDirectory(prefix="maskpredict-bench-") as scratch, Progress(quiet=quiet) as progress:
        race = _Race(config, folder, teacher, workload.raced, Path(scratch))
        runs = tuple(race.runs(progress.task("Racing", total=2 * config.rounds * len(config.beams))))
    machine = describe_machine(race.device, race.threads)
    busy = background_load.cores()
    crowded = not machine.gpu and busy is not None and machine.is_crowded_by(busy)
    note = f"Other programs kept {busy:.1f} cores busy: trust the CPU seconds, not the sentences a second."
    return DistillationResult(
        machine=machine,
        teacher=config.teacher,
        workload=workload.summary,
        ways=ways(runs, len(workload.raced)),
        overheads=overheads(runs),
        notes=(note,) if crowded else (),
        runs=runs,
    )


@dataclass(frozen=True)
class _Sources:
    """The same sentences for both ways."""

    text: Path
    data: Path


class _Race:
    def __init__(
        self, config: BenchConfig, folder: Path, teacher: ModelFolder, sentences: list[str], scratch: Path
    ) -> None:
        self.config, self.folder, self.teacher, self.scratch = config, folder, teacher, scratch
        self.device = find_device(config.device)
        self.threads = config.threads or default_threads()
        torch.set_num_threads(self.threads)
        self.warm_up = self._prepare("warm-up", sentences[:1])
        self.raced = self._prepare("raced", sentences)

    def runs(self, task: Task) -> Iterator[Run]:
        """Yield every timed run; each way goes first in every other round."""
        ways = {"by ids": self._by_ids, "by text": self._by_text}
        for name, way in ways.items():  # imports its modules
            way(self.warm_up, self.config.beams[0], self.scratch / f"{name}-warmed-up")()
        for number in range(1, self.config.rounds + 1):
            for beam_size in self.config.beams:
                for name, way in ways.items() if number % 2 else reversed(ways.items()):
                    work = way(self.raced, beam_size, self.scratch / f"{name}-{beam_size}-{number}")
                    yield _timed(number, name, beam_size, work)
                    task.advance()
        task.finish()

    def _prepare(self, name: str, sentences: list[str]) -> _Sources:
        """Write sentences as text, and as a data folder with the teacher's vocabulary; references do not matter."""
        languages, text, data = self.teacher.languages, self.scratch / f"{name}.txt", self.scratch / name
        text.write_text("".join(f"{sentence}\n" for sentence in sentences), encoding="utf-8")
        prepare(
            PrepareConfig(
                *(languages.source, languages.target, data),
                train=(CorpusConfig(source=text, target=text),),
                cleaning=CleaningConfig(max_tokens=self.teacher.config.max_positions),
                vocabulary=VocabularyConfig(reuse=self.folder),
            )
        )
        return _Sources(text, data)

    def _by_ids(self, sources: _Sources, beam_size: int, out: Path) -> Callable[[], None]:
        """Load the teacher; returns what is timed."""
        distillation = Distillation(
            DistillConfig(
                *(sources.data, self.folder, out),
                beam_size=beam_size,
                device=self.device,
                processes=1,
            )
        )

        def work() -> None:
            with join_process_group(torch.device("cpu")) as group:
                distillation.translate_and_merge(group, Progress(quiet=True))

        return work

    def _by_text(self, sources: _Sources, beam_size: int, out: Path) -> Callable[[], None]:
        """Load the teacher; returns what is timed."""
        config = TextDistillConfig(
            teacher=str(self.folder),
            source_language=self.teacher.languages.source,
            target_language=self.teacher.languages.target,
            text=(TextConfig(source=sources.text),),
            out=out,
            max_tokens=self.teacher.config.max_positions,
            beam_size=beam_size,
            device=self.device,
            processes=1,
        )
        distillation, digest = TextDistillation(config), teacher_digest(config)
        _ = distillation.teacher

        def work() -> None:
            corpora = source_corpora(config)
            distillation.split(provenance(config, digest, corpora), corpora, Progress(quiet=True))
            distillation.translate_and_merge(Progress(quiet=True))

        return work


def _timed(number: int, way: str, beam_size: int, work: Callable[[], None]) -> Run:
    start, cpu_start = time.perf_counter(), time.process_time()
    work()
    return Run(number, way, beam_size, time.perf_counter() - start, time.process_time() - cpu_start)


def _different_lines(source: Path) -> ReferenceSet:
    """The lines of a file, each once, since distillation by text translates each once."""
    lines = Lines(str(source), list(dict.fromkeys(map(printable, read_lines(source)))))
    return ReferenceSet(source.name, (lines,), lines)
