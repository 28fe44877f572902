"""Initial weights of a training run from another model.

Weights that both models have are copied. Depths may differ: a model with fewer layers takes evenly spaced layers of the
other, the first and the last among them, which is a better start than random weights. Vocabulary and kind of layer may
not: the same numbers would mean something else.
"""

from __future__ import annotations

import re
from pathlib import Path

from maskpredict.errors import UserError
from maskpredict.model.config import ModelConfig
from maskpredict.model.folder import ModelFolder
from maskpredict.model.module_weights import weights_of
from maskpredict.model.parameter_shapes import parameter_shapes
from maskpredict.model.stored_weights import Array
from maskpredict.systems.base import System
from maskpredict.tokenizer import Tokenizer, Tokenizers

_SAME = ("norm", "activation", "scale_embeddings")
"""Values of the architecture that say how weights of any shape are used."""
_LAYER = re.compile(r"(?<=^transformer\.)(encoder|decoder)\.(\d+)(?=\.)")


def initial_weights(system: System, tokenizers: Tokenizers, folder: Path) -> dict[str, Array]:
    """All weights of a system: those of the model in `folder` where it has them, otherwise the system's.

    A student may start from its teacher: they share the transformer, and what only the student has (a length head, or
    the layer that splits states into positions) keeps its random weights.
    """
    start, weights = ModelFolder.read(folder), weights_of(system)
    _validate(start, system.config, tokenizers, folder)
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


def _validate(start: ModelFolder, config: ModelConfig, tokenizers: Tokenizers, folder: Path) -> None:
    """Refuse weights that were trained for other subwords or layers of another kind."""
    given, wanted = start.tokenizers, tokenizers
    if _pieces(given.source) != _pieces(wanted.source) or _pieces(given.target) != _pieces(wanted.target):
        raise UserError(
            f"start_from: {folder} has another vocabulary than the data; prepare the data with "
            f"vocabulary.reuse={folder}, or start from a model of this data."
        )
    for name in _SAME:
        theirs, ours = getattr(start.config, name), getattr(config, name)
        if theirs != ours:
            raise UserError(
                f"start_from: {folder} was trained with model.{name}={theirs}, and this run has {ours}; "
                f"set model.{name} to {theirs}."
            )


def _pieces(tokenizer: Tokenizer) -> list[str]:
    return tokenizer.pieces(range(tokenizer.vocab_size))


def _counterpart(name: str, start: ModelConfig, target: ModelConfig) -> str:
    """The name, in the model to start from, of a weight of the target model."""

    def source_layer(match: re.Match[str]) -> str:
        side = match[1]
        available, wanted = (getattr(config, f"{side}_layers") for config in (start, target))
        return f"{side}.{matching_layers(available, wanted)[int(match[2])]}"

    return _LAYER.sub(source_layer, name)
