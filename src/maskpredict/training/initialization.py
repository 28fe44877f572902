"""Initial weights of a training run from another model.

Weights that both models have are copied. Depths may differ: a model with fewer layers takes evenly spaced layers of the
other, the first and the last among them, which is a better start than random weights.
"""

from __future__ import annotations

import re
from pathlib import Path

from maskpredict.model.config import ModelConfig
from maskpredict.model.folder import ModelFolder
from maskpredict.model.module_weights import weights_of
from maskpredict.model.parameter_shapes import parameter_shapes
from maskpredict.model.stored_weights import Array
from maskpredict.systems.base import System

_LAYER = re.compile(r"(?<=^transformer\.)(encoder|decoder)\.(\d+)(?=\.)")


def initial_weights(system: System, folder: Path) -> dict[str, Array]:
    """All weights of a system: those of the model in `folder` where it has them, otherwise the system's.

    A student may start from its teacher: they share the transformer, and what only the student has, such as the length
    head, keeps its random weights.
    """
    start, weights = ModelFolder.read(folder), weights_of(system)
    names = {name: _counterpart(name, start.config, system.config) for name in weights}
    vocabularies = system.vocabulary.source_size, system.vocabulary.target_size
    shared = parameter_shapes("autoregressive", system.config, *vocabularies)
    assert shared is not None
    heads = {name: weight for name, weight in weights.items() if name not in shared}
    return {**heads, **{name: start.weights[other] for name, other in names.items() if other in start.weights}}


def matching_layers(available: int, wanted: int) -> list[int]:
    """Evenly spaced layers of a model with `available` layers, first and last included; a single one is the last."""
    if wanted == 1:
        return [available - 1]
    return [int(layer * (available - 1) / (wanted - 1) + 0.5) for layer in range(wanted)]


def _counterpart(name: str, start: ModelConfig, target: ModelConfig) -> str:
    """The name, in the model to start from, of a weight of the target model."""

    def source_layer(match: re.Match[str]) -> str:
        side = match[1]
        available, wanted = (getattr(config, f"{side}_layers") for config in (start, target))
        return f"{side}.{matching_layers(available, wanted)[int(match[2])]}"

    return _LAYER.sub(source_layer, name)
