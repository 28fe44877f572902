"""`bench`: builds and warms up the racers, runs the race and computes the results."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from maskpredict.bench.build_racers import RacersAndModels, ToCTranslate2, build_racers
from maskpredict.bench.comparison import check_baselines, cross_overs, default_baselines, ratios
from maskpredict.bench.config import COMPUTE_TYPES, BenchConfig
from maskpredict.bench.machine import BackgroundLoad, describe_machine
from maskpredict.bench.race import Heat, Race
from maskpredict.bench.race_result import RaceResult
from maskpredict.bench.racer_result import racer_results
from maskpredict.bench.racers.base import ComputeSettings
from maskpredict.bench.warm_up import WarmedUpRacers, warm_up
from maskpredict.bench.workload import Workload, built_in_sentences, choose_sentences
from maskpredict.engines import default_threads
from maskpredict.engines.devices import find_device
from maskpredict.errors import UserError
from maskpredict.evaluate.reference_set import ReferenceSet
from maskpredict.progress import Progress


def bench(
    config: BenchConfig,
    test_set: ReferenceSet | None,
    to_ctranslate2: ToCTranslate2,
    *,
    save: Callable[[RaceResult], None] = lambda _: None,
    quiet: bool = True,
) -> RaceResult:
    """Run a race on a test set, or on the built-in sentences; `save` gets the results so far after each round.

    Ctrl-C ends the race; the result then has the heats until that moment.
    """
    deadline = time.monotonic() + (config.seconds or math.inf)
    compute = _compute_settings(config)
    with tempfile.TemporaryDirectory(prefix="maskpredict-bench-") as scratch, Progress(quiet=quiet) as progress:
        built = build_racers(config, compute, to_ctranslate2, Path(scratch))
        check_baselines(config.baselines, [racer.entry for racer in built.racers])
        workload = _workload(built, test_set, config)
        race = Race(workload.raced, config, compute.device)
        race_run = _RaceRun(config, compute, workload, race, warm_up(built.racers, race, workload, progress))
        race_run.run(deadline, save, progress)
        return race_run.result()


class _RaceRun:
    """A race in progress, with its heats so far."""

    def __init__(
        self, config: BenchConfig, compute: ComputeSettings, workload: Workload, race: Race, ready: WarmedUpRacers
    ) -> None:
        self.config, self.compute, self.workload = config, compute, workload
        self.race, self.ready = race, ready
        self.machine = describe_machine(compute.device, compute.threads)
        self.background_load = BackgroundLoad()
        self.total = config.rounds * len(race.batch_sizes) * len(ready.racers)
        self.heats: list[Heat] = []
        self.completed = False

    def run(self, deadline: float, save: Callable[[RaceResult], None], progress: Progress) -> None:
        """Run the heats until the end, the deadline or Ctrl-C."""
        task = progress.task("Racing", total=self.total)
        try:
            for heat in self.race.heats(self.ready.racers, deadline):
                if self.heats and heat.round > self.heats[-1].round:
                    save(self.result())
                self.heats.append(heat)
                task.advance(racer=heat.racer, batch=str(heat.batch_size))
            self.completed = True
        except KeyboardInterrupt:
            if not self.heats:
                raise
        task.finish()

    def result(self) -> RaceResult:
        """Results of the heats so far."""
        entries = [racer.entry for racer in self.ready.racers]
        racers = racer_results(self.heats, entries, self.ready.scores)
        baselines = self.config.baselines or default_baselines(entries)
        return RaceResult(
            machine=self.machine,
            workload=self.workload.summary,
            config={**asdict(self.config), "compute_types": self.compute.compute_types, "device": self.compute.device},
            signature=self.ready.signature,
            racers=racers,
            ratios=ratios(self.heats, racers, baselines),
            cross_overs=cross_overs(self.heats, racers),
            notes=(*self._remarks(), *self.ready.notes, *self.race.notes),
            interrupted=not self.completed,
            heats=tuple(self.heats),
        )

    def _remarks(self) -> list[str]:
        """Remarks on the race as a whole."""
        remarks = []
        busy = self.background_load.cores()
        if not self.machine.gpu and busy is not None and self.machine.is_crowded_by(busy):
            remarks.append(f"Other programs kept {busy:.1f} cores busy during the race: do not trust the figures.")
        if self.completed and len(self.heats) < self.total:
            rounds = f"round {self.heats[-1].round} of {self.config.rounds}"
            remarks.append(f"The time of {self.config.seconds:g} seconds was over in {rounds}.")
        if not (self.config.teacher or self.config.outside):
            remarks.append("No autoregressive model was given, so beam search and the peers are missing.")
        return remarks


def _compute_settings(config: BenchConfig) -> ComputeSettings:
    device = find_device(config.device)
    types = config.compute_types or COMPUTE_TYPES.get(device.partition(":")[0], ("float32",))
    return ComputeSettings(device, config.threads or default_threads(), config.engine, types)


def _workload(built: RacersAndModels, test_set: ReferenceSet | None, config: BenchConfig) -> Workload:
    models = [model.contents for model in built.models]
    languages = models[0].languages
    test_set = test_set or built_in_sentences(languages)
    if test_set.languages not in (None, languages):
        raise UserError(f"{test_set.name} is not {languages.source} to {languages.target}, as the models are.")
    # Our Translator would split a longer sentence, and the other engines would truncate it.
    longest = min(model.config.max_positions for model in models) - 2
    return choose_sentences(test_set, models[0].tokenizers.source, longest, config)
