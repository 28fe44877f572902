"""Stage `enlarge`: augments the distilled text by back-translation.

A student that sees the same few short sentences very often overfits to them. So a model of the opposite direction
translates the targets of some corpora into several sources each, and the teacher translates these sources.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from maskpredict.corpus.dataset import Dataset
from maskpredict.corpus.rearrange import join_datasets, reverse_dataset
from maskpredict.distill import DistillConfig, distill
from maskpredict.reproduce.recipe import EnlargeConfig

SUFFIX = "-back"
"""Suffix of the names of back-translated corpora."""

Distillation = Callable[[Path, Path, Path], DistillConfig]
"""(data, teacher, out) -> distillation config of the recipe, with the remaining time."""


def enlarge(config: EnlargeConfig, distillation: Distillation, work: Path, *, quiet: bool) -> bool:
    """Make WORK/enlarged, the distilled text with more pairs, or resume it; returns False if the time was over."""
    folder = work / "enlarging"
    if (work / "enlarged").exists():  # complete, but the process was killed before it wrote the record
        shutil.rmtree(folder, ignore_errors=True)
        return True
    languages = Dataset(work / "data").languages
    turned, targets, back, turned_back, sources, translated = (
        folder / name for name in ("turned", "targets", "back", "turned-back", "sources", "translated")
    )
    _make_once(turned, lambda: reverse_dataset(work / "data", turned, config.corpora))
    _make_once(targets, lambda: join_datasets([turned, *_gathered(work, languages.target)], targets))
    several = replace(distillation(targets, Path(config.model), back), choose="n_best", n=config.n)
    if not distill(several, quiet=quiet).finished:
        return False
    _make_once(turned_back, lambda: reverse_dataset(back, turned_back, suffix=SUFFIX))
    _make_once(sources, lambda: join_datasets([turned_back, *_gathered(work, languages.source)], sources))
    if not distill(distillation(sources, work / "teacher", translated), quiet=quiet).finished:
        return False
    join_datasets([work / "distilled", translated], work / "enlarged")
    shutil.rmtree(folder)
    return True


def _gathered(work: Path, language: str) -> list[Path]:
    """Monolingual sentences of this language from the stage `gather`, if any."""
    folder = work / "gathered" / language
    return [folder] if folder.exists() else []


def _make_once(folder: Path, make: Callable[[], None]) -> None:
    """Call `make` unless an earlier, interrupted call has made the folder."""
    if not folder.exists():
        make()
