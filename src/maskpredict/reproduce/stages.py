"""Stages of a recipe in order, with their inputs, outputs and functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from maskpredict.config import to_dict
from maskpredict.distill import DistillConfig, distill
from maskpredict.reproduce.analysis import analyze_work
from maskpredict.reproduce.deadline import Deadline
from maskpredict.reproduce.enlarging import enlarge
from maskpredict.reproduce.evaluation import evaluate
from maskpredict.reproduce.gathering import gather
from maskpredict.reproduce.outside_teacher import (
    card_sections,
    distill_outside,
    paired_tests,
    race,
    teacher_translator,
)
from maskpredict.reproduce.preparation import prepare_data
from maskpredict.reproduce.recipe import Recipe
from maskpredict.reproduce.shipping import ship
from maskpredict.training.loop import train

MACHINE_SETTINGS = {
    *("device", "threads", "processes", "engine", "batch_tokens"),
    *("checkpoint_every", "rewarmup", "max_skipped", "stuck_after"),
}
"""Values that do not affect the result, and may differ between machines."""
_HERE = Path()


@dataclass(frozen=True)
class StageContext:
    """Arguments of a call of `reproduce`, passed to each stage."""

    recipe: Recipe
    work: Path
    data: Path | None
    """Folder of the corpora."""
    deadline: Deadline
    quiet: bool
    command: str = ""
    """The command of this call, for reports."""


@dataclass(frozen=True)
class Stage:
    """One stage of a recipe."""

    name: str
    makes: tuple[str, ...]
    """Output folders in WORK, the result first."""
    needs: tuple[str, ...]
    """Stages whose results it reads; the last one depends on the others."""
    values: Callable[[Recipe], dict[str, Any]]
    """Values that its result depends on, besides the stages before it."""
    run: Callable[[StageContext], bool]
    """Starts or resumes the stage; returns True if it is finished."""
    growing: tuple[str, ...] = ()
    """Values that may grow after the stage is finished; it then resumes."""
    shared: bool = False
    """True if several processes of torchrun can run it together."""


def _prepare_values(recipe: Recipe) -> dict[str, Any]:
    names = {"source_language", "target_language", "train", "valid", "test", "cleaning", "vocabulary", "toy"}
    # Records from before `augmentation` existed stay valid.
    names |= {"augmentation"} if recipe.augmentation.active else set()
    return {name: value for name, value in to_dict(recipe).items() if name in names}


def _prepare(context: StageContext) -> bool:
    prepare_data(context.recipe, context.data, context.work / "corpus", context.work / "data", quiet=context.quiet)
    return True


def _outside_values(recipe: Recipe) -> dict[str, Any]:
    return _without(to_dict(recipe.text_distillation(_HERE, None)), "out", "seconds", "shard")


def _distill_outside(context: StageContext) -> bool:
    return distill_outside(context.recipe, context.work, context.deadline.left, quiet=context.quiet)


_TEXT = {"raw": ("prepare", "data"), "distilled": ("distill", "distilled"), "enlarged": ("enlarge", "enlarged")}
"""Stage and folder of each kind of training text."""


def _training(recipe: Recipe, name: str) -> Stage:
    data = recipe.text_of(name)
    maker, folder = _TEXT[data]
    needs: tuple[str, ...] = (maker,)
    start = recipe.training(name, _HERE, _HERE).start_from
    # Distilled and enlarged text depend on the teacher anyway.
    if start in recipe.trained and (start != "teacher" or data == "raw"):
        needs += (start,)

    def run(context: StageContext) -> bool:
        config = context.recipe.training(name, context.work / folder, context.work / name)
        if config.start_from in context.recipe.trained:
            config = replace(config, start_from=str(context.work / config.start_from / "model"))
        return train(config, stop_after=context.deadline.left, quiet=context.quiet).finished

    def values(recipe: Recipe) -> dict[str, Any]:
        return _training_values(recipe, name)

    return Stage(name, (name,), needs, values, run, growing=("steps", "seconds"), shared=True)


_FORMER_OPTIONS: dict[str, Any] = {
    "reveal": {"partial": 0.3, "glancing": 0.3, "glancing_from": 0.5, "glancing_to": 0.1},
    "order": {"temperature": 1.0},
}
"""Options of alignment and insertion models, which the records of all systems name."""


def _training_values(recipe: Recipe, name: str) -> dict[str, Any]:
    values = _FORMER_OPTIONS | _without(to_dict(recipe.training(name, _HERE, _HERE)), "data", "run")
    # Records from before these existed stay valid.
    values = _without(values, *(name for name in ("corpus_weights", "bigram_matches") if not values.get(name)))
    # The stage that it starts from, and which its fingerprint contains, may not depend on `enlarge`.
    return {**values, **_enlarge_values(recipe)} if recipe.text_of(name) == "enlarged" else values


def _distill_values(recipe: Recipe) -> dict[str, Any]:
    config = recipe.distillation(_HERE, _HERE, _HERE, None)
    return _without(to_dict(config), "data", "teacher", "out", "seconds")


def _distill(context: StageContext) -> bool:
    data, teacher, out = (context.work / name for name in ("data", "teacher", "distilled"))
    return distill(context.recipe.distillation(data, teacher, out, context.deadline.left), quiet=context.quiet).finished


def _gather_values(recipe: Recipe) -> dict[str, Any]:
    return {"text": to_dict(recipe.enlarge)["text"]}


def _gather(context: StageContext) -> bool:
    gather(context.recipe, context.data, context.work)
    return True


def _enlarge_values(recipe: Recipe) -> dict[str, Any]:
    return {"enlarge": to_dict(recipe.enlarge)}


def _enlarge(context: StageContext) -> bool:
    def distillation(data: Path, teacher: Path, out: Path) -> DistillConfig:
        return context.recipe.distillation(data, teacher, out, context.deadline.left)

    assert context.recipe.enlarge is not None
    return enlarge(context.recipe.enlarge, distillation, context.work, quiet=context.quiet)


def _evaluate_values(recipe: Recipe) -> dict[str, Any]:
    values = _without(to_dict(recipe.evaluate))
    # Records from before these keys existed stay valid.
    return _without(values, *(name for name in ("normalize", "normalize_also", "limit") if not values[name]))


def _main_runs(context: StageContext) -> dict[str, Path]:
    """Run folders of teacher, student and final model, the shipped one last."""
    return {role: context.work / role for role in context.recipe.trained if role not in context.recipe.variants}


def _evaluate(context: StageContext) -> bool:
    data, results, config = context.work / "data", context.work / "results", context.recipe.evaluate
    outside = teacher_translator(context.recipe) if context.recipe.outside else None
    finished = evaluate(
        *(config, _main_runs(context), data, results, lambda: context.deadline.over),
        outside=outside,
        quiet=context.quiet,
    )
    if finished and outside:
        paired_tests(config, data, results)
    return finished


def _race(context: StageContext) -> bool:
    *_, last = _main_runs(context).values()
    race(context.recipe, last, context.work, context.deadline.left, quiet=context.quiet)
    return True


def _ship(context: StageContext) -> bool:
    sections = card_sections(context.work)
    ship(context.recipe.ship, _main_runs(context), context.work / "results", context.work / "model", sections)
    return True


def _analyze_values(recipe: Recipe) -> dict[str, Any]:
    models = {name: _training_values(recipe, name) for name in recipe.variants}
    scoring = {name: getattr(recipe.evaluate, name) for name in ("compute_type", "normalize")}
    analyses = to_dict(recipe.analyze)
    # Records from before `again` existed stay valid.
    analyses = analyses if analyses["again"] else {name: analyses[name] for name in analyses if name != "again"}
    return {"analyze": analyses, "variants": models, **scoring}


def _analyze(context: StageContext) -> bool:
    return analyze_work(
        *(context.recipe, context.work, lambda: context.deadline.over), command=context.command, quiet=context.quiet
    )


def _without(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in MACHINE_SETTINGS and name not in names}


def stages(recipe: Recipe) -> tuple[Stage, ...]:
    """All stages of a recipe, in order."""
    distilled = ("distilled", "distilled.shards")
    enlarged = ("enlarged", "enlarging")
    gathered = Stage("gather", ("gathered",), ("prepare",), _gather_values, _gather)
    more_text = [gathered] if recipe.enlarge and recipe.enlarge.text else []
    needs = ("prepare", "teacher", *(stage.name for stage in more_text), "distill")
    more = Stage("enlarge", enlarged, needs, _enlarge_values, _enlarge)
    final = [] if recipe.final is None else [_training(recipe, "final")]
    last = "student" if recipe.final is None else "final"
    if recipe.outside is not None:
        return _outside_stages(recipe, distilled, last)
    analysis = Stage("analyze", ("analysis",), ("prepare", "student"), _analyze_values, _analyze)
    return (
        Stage("prepare", ("data",), (), _prepare_values, _prepare),
        *more_text,
        _training(recipe, "teacher"),
        Stage("distill", distilled, ("prepare", "teacher"), _distill_values, _distill, shared=True),
        _training(recipe, "student"),
        *([more] if recipe.enlarge else []),
        *final,
        Stage("evaluate", ("results",), ("prepare", "teacher", last), _evaluate_values, _evaluate),
        Stage("ship", ("model",), (last, "evaluate"), lambda recipe: to_dict(recipe.ship), _ship),
        *(_training(recipe, name) for name in recipe.variants),
        *([analysis] if recipe.analyze else []),
    )


def _outside_stages(recipe: Recipe, distilled: tuple[str, ...], last: str) -> tuple[Stage, ...]:
    """All stages of a recipe with a teacher from outside: the text is distilled before it is prepared."""
    final = [] if recipe.final is None else [_training(recipe, "final")]
    return (
        Stage("distill", distilled, (), _outside_values, _distill_outside, shared=True),
        Stage("prepare", ("data", "corpus"), ("distill",), _prepare_values, _prepare),
        _training(recipe, "student"),
        *final,
        Stage("evaluate", ("results",), ("prepare", last), _evaluate_values, _evaluate),
        Stage("race", ("race",), ("prepare", last), lambda recipe: recipe.race, _race),
        Stage("ship", ("model",), (last, "evaluate", "race"), lambda recipe: to_dict(recipe.ship), _ship),
        *(_training(recipe, name) for name in recipe.variants),
    )
