"""Before the race: load every racer, see what its translations are worth, and find out who cannot take part."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from maskpredict.bench.race import Race
from maskpredict.bench.racer_result import RacerScore
from maskpredict.bench.racers.base import Entry, Racer
from maskpredict.bench.workload import Workload
from maskpredict.errors import UserError
from maskpredict.evaluate.scores import score_corpus
from maskpredict.progress import Progress

logger = logging.getLogger(__name__)

ENOUGH = 0.95
"""Share of equal translations from which on two engines are taken to run the same model."""


@dataclass(frozen=True)
class WarmedUpRacers:
    """Who races."""

    racers: list[Racer]
    scores: dict[str, RacerScore]
    """By name of the racer."""
    signature: str
    """Of the BLEU scores."""
    notes: list[str]
    """Who cannot race and why, and who does not translate as expected."""


def warm_up(racers: Sequence[Racer], race: Race, course: Workload, progress: Progress) -> WarmedUpRacers:
    """Load and score the racers."""
    ready: list[Racer] = []
    texts: dict[str, list[str]] = {}
    missing: dict[str, list[str]] = {}
    task = progress.task("Warming up", total=len(racers))
    for racer in racers:
        name = racer.entry.name
        try:
            texts[name] = race.warm_up(racer, course.scored)
            ready.append(racer)
        except UserError as error:
            missing.setdefault(str(error), []).append(name)
        task.advance(racer=name)
    task.finish()
    if not ready:
        raise UserError(f"nobody can race: {' '.join(missing)}")
    entries = [racer.entry for racer in ready]
    bleu = {name: _bleu(own, course) for name, own in texts.items()}
    scores = {entry.name: RacerScore(bleu[entry.name][0], _same_texts(entry, texts)) for entry in entries}
    notes = [f"{', '.join(names)} cannot race: {reason}" for reason, names in missing.items()]
    notes += _mismatches(entries, scores)
    for note in notes:
        logger.warning(note)
    return WarmedUpRacers(ready, scores, bleu[entries[0].name][1], notes)


def _bleu(texts: Sequence[str], course: Workload) -> tuple[float, str]:
    """Score and signature."""
    found = score_corpus(texts, course.references, metrics=("bleu",), target_language=course.target_language)
    return found.scores[0].score, found.scores[0].signature


def _same_texts(entry: Entry, texts: Mapping[str, list[str]]) -> float | None:
    """Share of sentences that the racer translates like the one it should equal, if that one is there."""
    own, other = texts[entry.name], texts.get(entry.same_as)
    return None if other is None else sum(map(str.__eq__, own, other)) / len(own)


def _mismatches(entries: Sequence[Entry], scores: Mapping[str, RacerScore]) -> list[str]:
    """Racers that should translate like another in the same precision, and do not."""
    notes = []
    for entry in entries:
        same = scores[entry.name].same_texts
        if same is not None and same < ENOUGH and entry.same_as.endswith(entry.compute_type):
            notes.append(
                f"{entry.name} writes the same as {entry.same_as} on only {same:.0%} of the sentences: its time may "
                "not be that of the same model."
            )
    return notes
