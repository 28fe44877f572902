"""Time that each stage of a recipe costs: as recorded with its published results, or as the recipe limits it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maskpredict.errors import UserError
from maskpredict.reproduce.recipe import Recipe


@dataclass(frozen=True)
class Cost:
    """Time of a stage."""

    seconds: float | None
    """None if it was never recorded and the recipe sets no limit."""
    source: str
    """Where the number is from: the machine it was recorded on, or the recipe's limit."""

    @property
    def text(self) -> str:
        """The cost in words."""
        return self.source if self.seconds is None else f"{self.seconds:,.0f} s, {self.source}"


def stage_costs(recipe: Recipe, names: Sequence[str], results: Path) -> dict[str, Cost]:
    """Cost of each of these stages; `results` is the folder of the recipe's published results, if there is one."""
    made, scores = _read(results / "made.json", {}), _read(results / "scores.json", [])
    return {name: _cost(recipe, name, made, scores) for name in names}


def total(costs: dict[str, Cost]) -> str:
    """Sentence on the cost of all stages together."""
    known = [cost.seconds for cost in costs.values() if cost.seconds is not None]
    unknown = [name for name, cost in costs.items() if cost.seconds is None]
    sentence = f"All stages: {sum(known) / 3600:.1f} h as far as is known"
    return f"{sentence}; unknown: {', '.join(unknown)}." if unknown else f"{sentence}."


def _cost(recipe: Recipe, name: str, made: dict[str, Any], scores: list[dict[str, Any]]) -> Cost:
    if stage := made.get("stages", {}).get(name):
        return Cost(stage["seconds"], f"recorded on {stage['machine']}")
    if run := made.get("runs", {}).get(name):
        return Cost(run["seconds"], "recorded")
    if name == "evaluate" and scores:
        devices = " and ".join(dict.fromkeys(score["device"] for score in scores))
        return Cost(sum(score["seconds"] for score in scores), f"recorded on {devices}")
    if name not in recipe.trained:
        return Cost(None, "never recorded")
    config = recipe.training(name, Path(), Path())
    if config.seconds:
        return Cost(config.seconds, "the recipe's limit")
    return Cost(None, f"{config.steps:,} updates, never recorded")


def _read(path: Path, missing: Any) -> Any:
    if not path.exists():
        return missing
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path} is damaged; delete it, or restore it.") from error
