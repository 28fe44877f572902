"""The stage `enlarge`: more sources for the teacher to translate.

A student that meets few short sentences often knows them by heart in the end, and guesses badly at new ones. So a model
for the other direction says the targets of some corpora in several ways, and the teacher translates these too.
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
"""Follows the names of corpora whose sources were translated back from their targets."""

Distillation = Callable[[Path, Path, Path], DistillConfig]
"""(data, teacher, out) -> how the recipe distills, in the time that is left."""


def enlarge(config: EnlargeConfig, distillation: Distillation, work: Path, *, quiet: bool) -> bool:
    """Make WORK/enlarged, what is distilled with more sources, or go on with it; False when the time was over."""
    if (work / "enlarged").exists():  # it appears whole: whoever made it was killed before writing that down
        return True
    steps, languages = work / "enlarging", Dataset(work / "data").languages
    turned, targets, back, turned_back, sources, translated = (
        steps / name for name in ("turned", "targets", "back", "turned-back", "sources", "translated")
    )
    _unless_there(turned, lambda: reverse_dataset(work / "data", turned, config.corpora))
    _unless_there(targets, lambda: join_datasets([turned, *_gathered(work, languages.target)], targets))
    several = replace(distillation(targets, Path(config.model), back), choose="n_best", n=config.n)
    if not distill(several, quiet=quiet).finished:
        return False
    _unless_there(turned_back, lambda: reverse_dataset(back, turned_back, suffix=SUFFIX))
    _unless_there(sources, lambda: join_datasets([turned_back, *_gathered(work, languages.source)], sources))
    if not distill(distillation(sources, work / "teacher", translated), quiet=quiet).finished:
        return False
    join_datasets([work / "distilled", translated], work / "enlarged")
    shutil.rmtree(steps)
    return True


def _gathered(work: Path, language: str) -> list[Path]:
    """The sentences of this language that the stage `gather` found, if any."""
    folder = work / "gathered" / language
    return [folder] if folder.exists() else []


def _unless_there(folder: Path, make: Callable[[], None]) -> None:
    """Make a folder that a call before, cut short, has not made."""
    if not folder.exists():
        make()
