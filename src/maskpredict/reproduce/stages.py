"""The stages in their order: what each depends on, what it makes, and how it goes on with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from maskpredict.config import to_dict
from maskpredict.distill import distill
from maskpredict.reproduce.deadline import Deadline
from maskpredict.reproduce.evaluation import evaluate
from maskpredict.reproduce.preparation import prepare_data
from maskpredict.reproduce.recipe import Recipe
from maskpredict.reproduce.shipping import ship
from maskpredict.training.loop import train

ELSEWHERE = {"device", "threads", "engine", "batch_tokens", "checkpoint_every", "rewarmup"}
"""Values that say where and how something is computed, not what: another machine may have others."""
_HERE = Path()


@dataclass(frozen=True)
class Job:
    """One call of `reproduce`."""

    recipe: Recipe
    work: Path
    data: Path | None
    """Folder of the corpora."""
    deadline: Deadline
    quiet: bool


@dataclass(frozen=True)
class Stage:
    """A step of a recipe."""

    name: str
    makes: tuple[str, ...]
    """Folders in WORK, the result first."""
    needs: tuple[str, ...]
    """Stages whose results it reads."""
    values: Callable[[Recipe], dict[str, Any]]
    """What its result depends on, besides the stages before it."""
    go_on: Callable[[Job], bool]
    """Begin it, or continue; True when it is finished."""


def _prepare_values(recipe: Recipe) -> dict[str, Any]:
    names = ("source_language", "target_language", "train", "valid", "test", "cleaning", "vocabulary", "toy")
    return {name: value for name, value in to_dict(recipe).items() if name in names}


def _prepare(job: Job) -> bool:
    prepare_data(job.recipe, job.data, job.work / "corpus", job.work / "data", quiet=job.quiet)
    return True


def _training(role: Literal["teacher", "student"], data: str, needs: tuple[str, ...]) -> Stage:
    def values(recipe: Recipe) -> dict[str, Any]:
        return _without(to_dict(recipe.training(role, _HERE, _HERE)), "data", "run")

    def go_on(job: Job) -> bool:
        config = job.recipe.training(role, job.work / data, job.work / role)
        if config.start_from == "teacher":
            config = replace(config, start_from=str(job.work / "teacher" / "model"))
        return train(config, stop_after=job.deadline.left, quiet=job.quiet).finished

    return Stage(role, (role,), needs, values, go_on)


def _distill_values(recipe: Recipe) -> dict[str, Any]:
    config = recipe.distillation(_HERE, _HERE, _HERE, None)
    return _without(to_dict(config), "data", "teacher", "out", "seconds")


def _distill(job: Job) -> bool:
    data, teacher, out = (job.work / name for name in ("data", "teacher", "distilled"))
    return distill(job.recipe.distillation(data, teacher, out, job.deadline.left), quiet=job.quiet).finished


def _evaluate(job: Job) -> bool:
    models = {role: job.work / role for role in ("teacher", "student")}
    data, results = job.work / "data", job.work / "results"
    return evaluate(job.recipe.evaluate, models, data, results, lambda: job.deadline.over, quiet=job.quiet)


def _ship(job: Job) -> bool:
    student, teacher, results, out = (job.work / name for name in ("student", "teacher", "results", "model"))
    ship(job.recipe.ship, student, teacher, results, out)
    return True


def _without(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in ELSEWHERE and name not in names}


STAGES = (
    Stage("prepare", ("data",), (), _prepare_values, _prepare),
    _training("teacher", "data", needs=("prepare",)),
    Stage("distill", ("distilled", "distilled.shards"), ("prepare", "teacher"), _distill_values, _distill),
    _training("student", "distilled", needs=("distill",)),
    Stage(
        "evaluate",
        ("results",),
        ("prepare", "teacher", "student"),
        lambda recipe: _without(to_dict(recipe.evaluate)),
        _evaluate,
    ),
    Stage("ship", ("model",), ("student", "evaluate"), lambda recipe: to_dict(recipe.ship), _ship),
)
"""In the order in which they are made."""
