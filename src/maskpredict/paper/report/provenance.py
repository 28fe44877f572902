"""What a number was measured with: sentences, precision, machine, and the weights by their checksum."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from maskpredict.paper.finding import Setup
from maskpredict.paper.models import MODEL, ModelFacts

MADE_FILE = "made.json"
"""How a folder of results was made: `command` of a recipe, `data` (the command that prepares the test set), `notes`."""
NO_CHECKSUM = "not recorded"


def weights_of(facts: ModelFacts) -> str:
    """Checksum of a model's weights, as its config.json has it; results from before it was recorded have none."""
    return facts.weights or NO_CHECKSUM


def can_be_repeated(setup: Setup) -> bool:
    """True if it is recorded which weights were measured."""
    return any(facts.weights for facts in _analysed(setup))


def measured_with(setup: Setup) -> str:
    """Sentences, precision, machine and weights, in a few words."""
    weights = next(map(weights_of, _analysed(setup)), NO_CHECKSUM)
    return f"{setup.sentences:,} sentences, {setup.compute_type} on {setup.device}, weights {weights}"


def made(folder: Path) -> dict[str, Any]:
    """How the results of a folder were made; empty if it does not say."""
    path = folder / MADE_FILE
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return content


def _analysed(setup: Setup) -> Iterable[ModelFacts]:
    return (facts for facts in setup.models if facts.role == MODEL)
