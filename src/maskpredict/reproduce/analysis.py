"""Stage `analyze`: analyses of the student, compared with teacher and variants, and the report.

WORK/analysis   numbers, tables, figures, report.md and report.html
WORK/texts      cached translations of the test set, and input files for compare-mt
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from maskpredict.model.folder import is_model_folder
from maskpredict.paper.models import MODEL, Competitors
from maskpredict.paper.report.write import SCORES_FILE, write_report
from maskpredict.paper.run import analyze
from maskpredict.paper.study import Study
from maskpredict.progress import Progress
from maskpredict.reproduce.evaluation import scores_text
from maskpredict.reproduce.recipe import Recipe


def analyze_work(recipe: Recipe, work: Path, stop: Callable[[], bool], *, quiet: bool = False) -> bool:
    """Analyze the models in `work`; returns False if it was stopped, or if a model was not trained yet."""
    config = recipe.analyze
    assert config is not None  # else the recipe has no such stage
    runs = {MODEL: work / "student", "teacher": work / "teacher"} | {name: work / name for name in recipe.variants}
    models = {role: run for role, run in runs.items() if is_model_folder(run / "model")}
    missing = sorted(runs.keys() - models.keys())
    if missing:
        logging.getLogger(__name__).warning("Not trained yet, so left out of the analysis: %s.", ", ".join(missing))
    out = work / "analysis"
    with Progress(quiet=quiet) as progress:
        study = Study(
            Competitors(models, recipe.evaluate.device, recipe.evaluate.compute_type),
            work / "data",
            config.split or recipe.test_splits[0],
            out,
            work / "texts",
            limit=config.limit,
            normalization=recipe.evaluate.normalize,
            figure1=config.figure1,
            stop=stop,
            progress=progress,
        )
        outcome = analyze(study, config.only)
    if outcome.done:
        (out / SCORES_FILE).write_text(scores_text(work / "results"), encoding="utf-8")
        write_report(out, f"{recipe.source_language} to {recipe.target_language}: the paper's tables and figures")
    return outcome.finished and not missing
