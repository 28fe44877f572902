"""Loads every racer, scores its translations, and reports racers that fail."""

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

MIN_SAME_TEXTS = 0.95
"""Minimum fraction of identical translations of two engines that run the same model."""


@dataclass(frozen=True)
class WarmedUpRacers:
    """Loaded and scored racers."""

    racers: list[Racer]
    scores: dict[str, RacerScore]
    """Scores by name of the racer."""
    signature: str
    """sacreBLEU signature of the scores."""
    notes: list[str]
    """Racers that cannot take part and why, and racers whose translations differ from what is expected."""


def warm_up(racers: Sequence[Racer], race: Race, workload: Workload, progress: Progress) -> WarmedUpRacers:
    """Load and score the racers."""
    ready: list[Racer] = []
    texts: dict[str, list[str]] = {}
    failed: dict[str, list[str]] = {}
    task = progress.task("Warming up", total=len(racers))
    for racer in racers:
        name = racer.entry.name
        try:
            texts[name] = race.warm_up(racer, workload.scored)
            ready.append(racer)
        except UserError as error:
            failed.setdefault(str(error), []).append(name)
        task.advance(racer=name)
    task.finish()
    if not ready:
        raise UserError(f"no racer can run: {' '.join(failed)}")
    entries = [racer.entry for racer in ready]
    bleu = {name: _bleu(outputs, workload) for name, outputs in texts.items()}
    scores = {entry.name: RacerScore(bleu[entry.name][0], _same_texts(entry, texts)) for entry in entries}
    notes = [f"{', '.join(names)} cannot race: {reason}" for reason, names in failed.items()]
    notes += _mismatches(entries, scores)
    for note in notes:
        logger.warning(note)
    return WarmedUpRacers(ready, scores, bleu[entries[0].name][1], notes)


def _bleu(texts: Sequence[str], workload: Workload) -> tuple[float, str]:
    """BLEU and its signature."""
    (bleu,) = score_corpus(
        texts, workload.references, metrics=("bleu",), target_language=workload.target_language
    ).scores
    return bleu.score, bleu.signature


def _same_texts(entry: Entry, texts: Mapping[str, list[str]]) -> float | None:
    """Fraction of translations identical to those of `entry.same_as`; None without that racer."""
    outputs, expected = texts[entry.name], texts.get(entry.same_as)
    return None if expected is None else sum(map(str.__eq__, outputs, expected)) / len(outputs)


def _mismatches(entries: Sequence[Entry], scores: Mapping[str, RacerScore]) -> list[str]:
    """Notes on racers that should translate like another in the same compute type, and do not."""
    notes = []
    for entry in entries:
        same = scores[entry.name].same_texts
        if same is not None and same < MIN_SAME_TEXTS and entry.same_as.endswith(entry.compute_type):
            notes.append(
                f"{entry.name} writes the same as {entry.same_as} on only {same:.0%} of the sentences: its time may "
                "not be that of the same model."
            )
    return notes
