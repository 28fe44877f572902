"""Stage `analyze`: analyses of the student, compared with teacher and variants, and the report.

WORK/analysis   numbers, tables, figures, report.md and report.html
WORK/analysis/seed-2   the main table with models of another seed, if the recipe has any
WORK/texts      cached translations of the test set, and input files for compare-mt
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from maskpredict.model.folder import is_model_folder
from maskpredict.paper.analyses.main_table import ANALYSIS
from maskpredict.paper.models import MODEL, Competitors
from maskpredict.paper.report.write import SCORES_FILE, SEED_FOLDER, write_report
from maskpredict.paper.run import analyze
from maskpredict.paper.study import Study
from maskpredict.progress import Progress
from maskpredict.reproduce.evaluation import scores_text
from maskpredict.reproduce.recipe import Recipe


def analyze_work(
    recipe: Recipe, work: Path, stop: Callable[[], bool], *, command: str = "", quiet: bool = False
) -> bool:
    """Analyze the models in `work`; returns False if it was stopped, or if a model was not trained yet.

    `command` is the command of the recipe, for the report.
    """
    config = recipe.analyze
    assert config is not None  # else the recipe has no such stage
    runs = {MODEL: work / "student", "teacher": work / "teacher"} | {name: work / name for name in recipe.variants}
    models = {role: run for role, run in runs.items() if is_model_folder(run / "model")}
    missing = sorted(runs.keys() - models.keys())
    if missing:
        logging.getLogger(__name__).warning("Not trained yet, so left out of the analysis: %s.", ", ".join(missing))
    out = work / "analysis"
    with Progress(quiet=quiet) as progress:

        def study(models: Mapping[str, Path], out: Path) -> Study:
            return Study(
                Competitors(models, recipe.evaluate.device, recipe.evaluate.compute_type),
                work / "data",
                config.split or recipe.test_splits[0],
                out,
                work / "texts",
                limit=config.limit,
                normalization=recipe.evaluate.normalize,
                figure1=config.figure1,
                command=f"{command} --stage analyze" if command else "",
                stop=stop,
                progress=progress,
            )

        outcome = analyze(study(models, out), config.only)
        for number, roles in enumerate(config.again, 2):
            if not outcome.finished or not {*roles.values()} <= models.keys():
                break
            others = {role: models[name] for role, name in roles.items()}
            again = analyze(study({**models, **others}, out / f"{SEED_FOLDER}{number}"), [ANALYSIS.name])
            outcome = replace(outcome, finished=again.finished)
    if outcome.done:
        (out / SCORES_FILE).write_text(scores_text(work / "results"), encoding="utf-8")
        write_report(out, f"{recipe.source_language} to {recipe.target_language}: the paper's tables and figures")
    return outcome.finished and not missing
