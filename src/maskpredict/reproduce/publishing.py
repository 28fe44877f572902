"""Publishable results of a recipe: scores, their provenance and the analysis, without sentences of a corpus.

RESULTS/scores.json   every score, with settings, signature, sentences, versions and device
RESULTS/corpora.json  pairs read, kept and dropped of each corpus, and their subwords
RESULTS/made.json     the command, all values of the recipe, the time of each stage, and updates of the training runs
RESULTS/race, paired  speed and paired tests against a teacher from outside, if the recipe has one
RESULTS/...           the analysis and its report, if the recipe has one
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from maskpredict.config import to_dict
from maskpredict.corpus.dataset import DESCRIPTION_FILE, Dataset
from maskpredict.json_file import json_text
from maskpredict.new_file import new_file
from maskpredict.paper.report.provenance import MADE_FILE
from maskpredict.paper.report.write import SCORES_FILE
from maskpredict.reproduce.evaluation import read_scores, scores_text
from maskpredict.reproduce.outside_teacher import PAIRED
from maskpredict.reproduce.recipe import Recipe
from maskpredict.reproduce.records import Record
from maskpredict.reproduce.shipping import last_state
from maskpredict.reproduce.stages import stages

CORPORA_FILE = "corpora.json"


def publish(command: str, recipe: Recipe, work: Path, results: Path) -> None:
    """Write the results so far into the folder `results`."""
    if (work / "analysis").exists():
        shutil.copytree(work / "analysis", results, ignore=shutil.ignore_patterns("*.partial"), dirs_exist_ok=True)
    for folder in (work / "race", work / "results" / PAIRED):
        if folder.exists():
            shutil.copytree(folder, results / folder.name, dirs_exist_ok=True)
    if (work / "data" / DESCRIPTION_FILE).exists():
        results.mkdir(parents=True, exist_ok=True)
        counts = Dataset(work / "data").description.report["corpora"]
        (results / CORPORA_FILE).write_text(json_text(counts), encoding="utf-8")
    if not read_scores(work / "results"):
        return
    made = {
        "command": command,
        "stages": _stages(recipe, work),
        "runs": _runs(recipe, work),
        "recipe": to_dict(recipe),
    }
    results.mkdir(parents=True, exist_ok=True)
    with new_file(results / SCORES_FILE) as file:
        file.write(scores_text(work / "results").encode())
    with new_file(results / MADE_FILE) as file:
        file.write(json_text(made).encode())


def _stages(recipe: Recipe, work: Path) -> dict[str, dict[str, Any]]:
    """Seconds and machine of each stage that was started."""
    records = {stage.name: Record.read(work / f"{stage.name}.json") for stage in stages(recipe)}
    return {name: {"seconds": record.seconds, "machine": record.machine} for name, record in records.items() if record}


def _runs(recipe: Recipe, work: Path) -> dict[str, dict[str, Any]]:
    """Seed, updates and seconds of each model with a run folder."""
    states = {name: last_state(work / name) for name in recipe.trained}
    return {
        name: {
            "seed": recipe.training(name, Path(), Path()).seed,
            "updates": state.update,
            "seconds": round(state.seconds, 1),
        }
        for name, state in states.items()
        if state
    }
