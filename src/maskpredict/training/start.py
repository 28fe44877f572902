"""The weights a training starts from, where those are another model's.

What both models have is taken over. Their depths may differ: a model with fewer layers takes every so many of the
other's, the first and the last among them, which leaves it less to learn than random ones would.
"""

from __future__ import annotations

import re
from pathlib import Path

from maskpredict.model.config import ModelConfig
from maskpredict.model.folder import ModelFolder
from maskpredict.model.module_weights import weights_of
from maskpredict.model.stored_weights import Array
from maskpredict.systems.base import System

_LAYER = re.compile(r"(?<=^transformer\.)(encoder|decoder)\.(\d+)(?=\.)")


def start_weights(system: System, folder: Path) -> dict[str, Array]:
    """All weights of a system: those of the model in `folder` where it has them, else its own.

    A student may start from its teacher: the transformer is the same, the length head stays as it is.
    """
    start, own = ModelFolder.read(folder), weights_of(system)
    names = {name: _counterpart(name, start.config, system.config) for name in own}
    kept = {name: weight for name, weight in own.items() if not name.startswith("transformer.")}
    return {**kept, **{name: start.weights[other] for name, other in names.items() if other in start.weights}}


def chosen_layers(available: int, wanted: int) -> list[int]:
    """Which of a model's layers those of another are made of, from the first to the last; a single one is the last."""
    if wanted == 1:
        return [available - 1]
    return [int(layer * (available - 1) / (wanted - 1) + 0.5) for layer in range(wanted)]


def _counterpart(name: str, start: ModelConfig, own: ModelConfig) -> str:
    """What a weight is called in the model to start from."""

    def there(match: re.Match[str]) -> str:
        side = match[1]
        available, wanted = (getattr(config, f"{side}_layers") for config in (start, own))
        return f"{side}.{chosen_layers(available, wanted)[int(match[2])]}"

    return _LAYER.sub(there, name)
