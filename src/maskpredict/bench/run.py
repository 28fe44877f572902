"""A whole race: line everybody up, warm up, run the heats, sum up."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch

from maskpredict.bench.build_racers import RacersAndModels, ToCTranslate2, build_racers
from maskpredict.bench.comparison import check_baselines, cross_overs, default_baselines, ratios
from maskpredict.bench.config import COMPUTE_TYPES, BenchConfig
from maskpredict.bench.machine import BackgroundLoad, describe_machine
from maskpredict.bench.race import Heat, Race
from maskpredict.bench.race_result import RaceResult
from maskpredict.bench.racer_result import racer_results
from maskpredict.bench.racers.base import ComputeSettings
from maskpredict.bench.warm_up import WarmedUpRacers, warm_up
from maskpredict.bench.workload import Workload, built_in_sentences, choose
from maskpredict.errors import UserError
from maskpredict.evaluate.reference_set import ReferenceSet
from maskpredict.progress import Progress
from maskpredict.runtime.find_model import find_device


def bench(
    config: BenchConfig,
    test_set: ReferenceSet | None,
    to_ctranslate2: ToCTranslate2,
    *,
    save: Callable[[RaceResult], None] = lambda _: None,
    quiet: bool = True,
) -> RaceResult:
    """Race on a test set, or on the built-in sentences. `save` is given what is known after each round.

    Ctrl-C ends the race; what was measured until then is the result.
    """
    deadline = time.monotonic() + (config.seconds or math.inf)
    track = _track(config)
    with tempfile.TemporaryDirectory(prefix="maskpredict-bench-") as scratch, Progress(quiet=quiet) as progress:
        lined_up = build_racers(config, track, to_ctranslate2, Path(scratch))
        check_baselines(config.baselines, [racer.entry for racer in lined_up.racers])
        course = _course(lined_up, test_set, config)
        race = Race(course.raced, config, track.device)
        running = _RaceRun(config, track, course, race, warm_up(lined_up.racers, race, course, progress))
        running.go(deadline, save, progress)
        return running.result()


class _RaceRun:
    """A race, and what is known of it so far."""

    def __init__(
        self, config: BenchConfig, track: ComputeSettings, course: Workload, race: Race, ready: WarmedUpRacers
    ) -> None:
        self.config, self.track, self.course = config, track, course
        self.race, self.ready = race, ready
        self.machine = describe_machine(track.device, track.threads)
        self.others = BackgroundLoad()
        self.total = config.rounds * len(race.batch_sizes) * len(ready.racers)
        self.heats: list[Heat] = []
        self.over = False

    def go(self, deadline: float, save: Callable[[RaceResult], None], progress: Progress) -> None:
        """Run the heats, until they are over or someone has had enough."""
        task = progress.task("Racing", total=self.total)
        try:
            for heat in self.race.heats(self.ready.racers, deadline):
                if self.heats and heat.round > self.heats[-1].round:
                    save(self.result())
                self.heats.append(heat)
                task.advance(racer=heat.racer, batch=str(heat.batch_size))
            self.over = True
        except KeyboardInterrupt:
            if not self.heats:
                raise
        task.finish()

    def result(self) -> RaceResult:
        """What is known now."""
        entries = [racer.entry for racer in self.ready.racers]
        racers = racer_results(self.heats, entries, self.ready.scores)
        baselines = self.config.baselines or default_baselines(entries)
        return RaceResult(
            machine=self.machine,
            course=self.course.facts,
            config={**asdict(self.config), "compute_types": self.track.compute_types, "device": self.track.device},
            signature=self.ready.signature,
            racers=racers,
            ratios=ratios(self.heats, racers, baselines),
            cross_overs=cross_overs(self.heats, racers),
            notes=(*self._remarks(), *self.ready.notes, *self.race.notes),
            interrupted=not self.over,
            heats=tuple(self.heats),
        )

    def _remarks(self) -> list[str]:
        """What a reader must know about the race as a whole."""
        remarks = []
        busy = self.others.cores()
        if not self.machine.gpu and busy is not None and self.machine.is_crowded_by(busy):
            remarks.append(f"Other programs kept {busy:.1f} cores busy during the race: do not trust the figures.")
        if self.over and len(self.heats) < self.total:
            rounds = f"round {self.heats[-1].round} of {self.config.rounds}"
            remarks.append(f"The time of {self.config.seconds:g} seconds was over in {rounds}.")
        if not self.config.teacher:
            remarks.append("No autoregressive model was given, so beam search and the peers are missing.")
        return remarks


def _track(config: BenchConfig) -> ComputeSettings:
    device = find_device(config.device)
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    types = config.compute_types or COMPUTE_TYPES.get(device.type, ("float32",))
    return ComputeSettings(str(device), torch.get_num_threads(), types)


def _course(lined_up: RacersAndModels, test_set: ReferenceSet | None, config: BenchConfig) -> Workload:
    models = [model.contents for model in lined_up.models]
    languages = models[0].languages
    test_set = test_set or built_in_sentences(languages)
    if test_set.languages not in (None, languages):
        raise UserError(f"{test_set.name} is not {languages.source} to {languages.target}, as the models are.")
    # Our Translator would cut a longer sentence into pieces, and the peers would cut it off.
    longest = min(model.config.max_positions for model in models) - 2
    return choose(test_set, models[0].tokenizers.source, longest, config)
