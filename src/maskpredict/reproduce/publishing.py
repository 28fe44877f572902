"""Publishable results of a recipe: scores, their provenance and the analysis, without sentences of a corpus.

RESULTS/scores.json   every score, with settings, signature, sentences, versions and device
RESULTS/made.json     the command, all values of the recipe, and updates and time of the training runs
RESULTS/race, paired  speed and paired tests against a teacher from outside, if the recipe has one
RESULTS/...           the analysis and its report, if the recipe has one
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from maskpredict.config import to_dict
from maskpredict.new_file import new_file
from maskpredict.paper.report.write import SCORES_FILE
from maskpredict.reproduce.evaluation import read_scores, scores_text
from maskpredict.reproduce.outside_teacher import PAIRED
from maskpredict.reproduce.recipe import Recipe
from maskpredict.reproduce.shipping import last_state

MADE_FILE = "made.json"


def publish(command: str, recipe: Recipe, work: Path, results: Path) -> None:
    """Write the results so far into the folder `results`."""
    if (work / "analysis").exists():
        shutil.copytree(work / "analysis", results, ignore=shutil.ignore_patterns("*.partial"), dirs_exist_ok=True)
    for folder in (work / "race", work / "results" / PAIRED):
        if folder.exists():
            shutil.copytree(folder, results / folder.name, dirs_exist_ok=True)
    if not read_scores(work / "results"):
        return
    results.mkdir(parents=True, exist_ok=True)
    made = {"command": command, "runs": _runs(recipe, work), "recipe": to_dict(recipe)}
    with new_file(results / SCORES_FILE) as file:
        file.write(scores_text(work / "results").encode())
    with new_file(results / MADE_FILE) as file:
        file.write((json.dumps(made, indent=2, ensure_ascii=False) + "\n").encode())


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
