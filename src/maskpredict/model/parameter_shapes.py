"""The names and shapes of a model's weights, from its config, without building the model.

They are those of `transformer.py` and the systems; a tied weight is stored once, under its first name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy.typing as npt

from maskpredict.errors import UserError
from maskpredict.model.config import ModelConfig
from maskpredict.model.stored_weights import StoredWeights

Shapes = dict[str, tuple[int, ...]]
LENGTH_HEAD_SYSTEMS = ("cmlm", "refinement", "fairseq_cmlm", "fairseq_cmlm_relative")
ALIGNMENT_SYSTEMS = ("alignment", "ctc")
"""Systems with several target positions for each source subword."""


KNOWN_SYSTEMS = (*LENGTH_HEAD_SYSTEMS, *ALIGNMENT_SYSTEMS, "autoregressive", "insertion")
"""Systems all of whose weights are known here."""


def parameter_shapes(system: str, config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> Shapes:
    """Return the shape of every weight by its name; of a system that is not known here, those of its transformer."""
    shapes = dict(_transformer(config, source_vocabulary, target_vocabulary))
    if system in LENGTH_HEAD_SYSTEMS:
        shapes["length.table.weight"] = (config.length_classes or config.max_positions, config.width)
    if system in ALIGNMENT_SYSTEMS:
        shapes |= _linear("split", config.width, config.ctc_positions * config.width)
    if system == "insertion":
        shapes |= _linear("slot", 2 * config.width, config.width)
    return shapes


def check_depth(weights: Mapping[str, npt.NDArray[Any]], config: ModelConfig) -> None:
    """Refuse a config with more layers than there are weights, since listing all of them could take for ever."""
    layers = config.encoder_layers + config.decoder_layers
    if layers > len(weights):
        raise UserError(f"the weights do not fit the model's config: {layers} layers, but only {len(weights)} weights.")


def check_weights(weights: Mapping[str, Any], expected: Shapes, *, complete: bool = True) -> None:
    """Refuse weights whose names or shapes are not the expected ones, without reading stored weights.

    They may be arrays or tensors. Unless `expected` is `complete`, there may be others.
    """
    missing, unknown = expected.keys() - weights.keys(), weights.keys() - expected.keys() if complete else ()
    if missing or unknown:
        names = ", ".join(sorted(missing or unknown)[:3])
        raise UserError(f"the weights do not fit the model's config: {'missing' if missing else 'unknown'} {names}.")
    for name, shape in expected.items():
        actual = weights.shape(name) if isinstance(weights, StoredWeights) else tuple(weights[name].shape)
        if actual != shape:
            raise UserError(
                f"the weights do not fit the model's config: {name} has shape {list(actual)}, expected {list(shape)}."
            )


def _transformer(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> Iterator[tuple[str, Any]]:
    width = config.width
    for side, vocabulary in (("source", source_vocabulary), ("target", target_vocabulary)):
        if side == "source" or config.embeddings != "shared":
            yield f"transformer.{side}.tokens.weight", (vocabulary, width)
        yield f"transformer.{side}.positions.weight", (config.max_positions, width)
    for depth in range(config.encoder_layers):
        yield from _layer(f"transformer.encoder.{depth}", config, cross=False)
    for depth in range(config.decoder_layers):
        yield from _layer(f"transformer.decoder.{depth}", config, cross=True)
    if config.embeddings == "separate":
        yield "transformer.output.weight", (target_vocabulary, width)
    if config.norm == "pre":
        yield from _norm("transformer.encoder_norm", width).items()
        yield from _norm("transformer.decoder_norm", width).items()


def _layer(name: str, config: ModelConfig, *, cross: bool) -> Iterator[tuple[str, tuple[int, ...]]]:
    width = config.width
    parts = [
        _linear(f"{name}.attention.qkv", width, 3 * width),
        _linear(f"{name}.attention.out", width, width),
        _norm(f"{name}.attention_residual.norm", width),
        _linear(f"{name}.feed_forward.inner", width, config.hidden),
        _linear(f"{name}.feed_forward.outer", config.hidden, width),
        _norm(f"{name}.feed_forward_residual.norm", width),
    ]
    if cross:
        parts += [
            _linear(f"{name}.cross.q", width, width),
            _linear(f"{name}.cross.kv", width, 2 * width),
            _linear(f"{name}.cross.out", width, width),
            _norm(f"{name}.cross_residual.norm", width),
        ]
    for part in parts:
        yield from part.items()


def _linear(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _norm(name: str, width: int) -> Shapes:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}
