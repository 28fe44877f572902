"""Conversion of fairseq's transformer: its settings to a `ModelConfig`, its tensors to our names.

Three generations of names are supported: fused and separate q-k-v projections, layer norms with gamma and beta or
weight and bias, and numbered norms in the encoder. Every tensor must be used, which detects unsupported options.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from maskpredict.convert.checkpoint import Checkpoint
from maskpredict.errors import UserError
from maskpredict.model.config import ModelConfig
from maskpredict.model.padding import ROWS

_UNSUPPORTED = {
    "adaptive_softmax_cutoff": "adaptive softmax",
    "no_token_positional_embeddings": "no positions",
    "no_enc_token_positional_embeddings": "no positions in the encoder",
    "no_dec_token_positional_embeddings": "no positions in the decoder",
    "embedding_only": "embeddings without layers",
    "layernorm_embedding": "layer norm on embeddings",
    "src_embedding_copy": "copied source embeddings",
    "no_cross_attention": "no cross-attention",
    "cross_self_attention": "joint self- and cross-attention",
    "no_decoder_final_norm": "no last layer norm",
    "encoder_embed_scale": "an embedding scale of its own",
    "decoder_embed_scale": "an embedding scale of its own",
}
MAX_POSITIONS = 65_536
"""Longest model whose positions are computed instead of stored."""
_IGNORED = ("version", "embed_positions._float_tensor", "embed_positions.weights")


@dataclass(frozen=True)
class ArchitectureDefaults:
    """Architecture settings of a family that its checkpoints do not contain."""

    norm_epsilon: float
    scale_embeddings: bool
    activation: Literal["gelu", "relu"]
    """Activation if the checkpoint has no such setting."""
    pad: int = 1


class Tensors:
    """Tensors of a checkpoint, each of which is taken once."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.path = checkpoint.path
        self._unused = {
            name: tensor.float()
            for name, tensor in checkpoint.tensors.items()
            if name.partition(".")[2] not in _IGNORED
        }

    def take(self, *names: str) -> Tensor:
        """Take the tensor with one of these names."""
        tensor = self.find(*names)
        if tensor is None:
            raise UserError(f"{self.path} has no weights called {names[0]}, which a model of its kind needs.")
        return tensor

    def find(self, *names: str) -> Tensor | None:
        """Take the tensor with one of these names, or None."""
        return next((self._unused.pop(name) for name in names if name in self._unused), None)

    def refuse_unused(self) -> None:
        """Raise `UserError` if a tensor was not taken."""
        if self._unused:
            raise UserError(
                f"{self.path} has weights that models of its kind do not have ({', '.join(sorted(self._unused)[:3])}); "
                "it was trained with an option that cannot be imported."
            )


def refuse_unsupported(checkpoint: Checkpoint) -> None:
    """Raise `UserError` for options that have no counterpart here."""
    for option, meaning in _UNSUPPORTED.items():
        if checkpoint.settings.get(option):
            raise UserError(
                f"{checkpoint.path} was trained with {meaning} ({option.replace('_', '-')}), which is not supported."
            )
    for option in ("decoder_input_dim", "decoder_output_dim"):
        if checkpoint.settings.get(option, width := _both(checkpoint, "embed_dim")) != width:
            raise UserError(f"{checkpoint.path} has a {option.replace('_', '-')} of its own, which is not supported.")


def convert_transformer(
    checkpoint: Checkpoint, tensors: Tensors, defaults: ArchitectureDefaults, length_classes: int | None
) -> tuple[ModelConfig, dict[str, Tensor]]:
    """Config, and weights by their names in `systems`; tied tables appear under all their names."""
    settings = checkpoint.settings
    tables, embeddings = _tables(tensors)
    source, target = (_positions(side, checkpoint, tensors, defaults) for side in ("encoder", "decoder"))
    # Batches are padded to multiples of ROWS, and padding must not reach an untrained position.
    max_positions = min(len(source), len(target)) // ROWS * ROWS
    config = ModelConfig(
        width=_both(checkpoint, "embed_dim"),
        hidden=_both(checkpoint, "ffn_embed_dim"),
        heads=_both(checkpoint, "attention_heads"),
        encoder_layers=int(_setting(checkpoint, "encoder_layers")),
        decoder_layers=int(_setting(checkpoint, "decoder_layers")),
        dropout=float(settings.get("dropout", 0.0)),
        norm="pre" if _both(checkpoint, "normalize_before") else "post",
        activation=_activation(checkpoint, defaults),
        norm_epsilon=defaults.norm_epsilon,
        scale_embeddings=defaults.scale_embeddings and not settings.get("no_scale_embedding"),
        embeddings=embeddings,
        max_positions=max_positions,
        length_classes=None if length_classes == max_positions else length_classes,
    )
    weights = {**tables, "source.positions.weight": source, "target.positions.weight": target}
    weights = {name: tensor[:max_positions] if "positions" in name else tensor for name, tensor in weights.items()}
    for side, count in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for number in range(count):
            weights.update(_layer(tensors, side, number))
        if config.norm == "pre":
            weights.update(_norm(tensors, f"{side}_norm", f"{side}.layer_norm"))
    return config, {f"transformer.{name}": tensor for name, tensor in weights.items()}


def _tables(tensors: Tensors) -> tuple[dict[str, Tensor], Literal["shared", "target", "separate"]]:
    """Embeddings and output projection; equal tables are tied."""
    source, target = tensors.take("encoder.embed_tokens.weight"), tensors.take("decoder.embed_tokens.weight")
    projection = tensors.find("decoder.output_projection.weight", "decoder.embed_out")
    output = target if projection is None else projection
    tables = {"source.tokens.weight": source, "target.tokens.weight": target, "output.weight": output}
    if not torch.equal(output, target):
        return tables, "separate"
    return tables, "shared" if torch.equal(source, target) else "target"


def _positions(side: str, checkpoint: Checkpoint, tensors: Tensors, defaults: ArchitectureDefaults) -> Tensor:
    """Position embeddings; fairseq counts positions from the id of PAD plus one."""
    first = defaults.pad + 1
    learned = tensors.find(f"{side}.embed_positions.weight")
    if learned is not None:
        return learned[first:]
    places = int(_setting(checkpoint, f"max_{'source' if side == 'encoder' else 'target'}_positions"))
    if not 0 < places <= MAX_POSITIONS:
        raise UserError(f"{checkpoint.path} has {places} positions; models with up to {MAX_POSITIONS} can be imported.")
    return sinusoids(places + first, _both(checkpoint, "embed_dim"))[first:]


def sinusoids(rows: int, width: int) -> Tensor:
    """Sinusoidal positions of fairseq: all sines, then all cosines."""
    half = width // 2
    rates = torch.exp(torch.arange(half) * (-math.log(10_000) / (half - 1)))
    angles = torch.arange(rows)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos(), torch.zeros(rows, width % 2)], 1)


def _layer(tensors: Tensors, side: str, number: int) -> dict[str, Tensor]:
    ours, theirs = f"{side}.{number}", f"{side}.layers.{number}"
    weights = {}
    for kind in ("weight", "bias"):
        weights[f"{ours}.attention.qkv.{kind}"] = torch.cat(_query_key_value(tensors, f"{theirs}.self_attn", kind))
        weights[f"{ours}.attention.out.{kind}"] = tensors.take(f"{theirs}.self_attn.out_proj.{kind}")
        weights[f"{ours}.feed_forward.inner.{kind}"] = tensors.take(f"{theirs}.fc1.{kind}")
        weights[f"{ours}.feed_forward.outer.{kind}"] = tensors.take(f"{theirs}.fc2.{kind}")
        if side == "decoder":
            query, *key_value = _query_key_value(tensors, f"{theirs}.encoder_attn", kind)
            weights[f"{ours}.cross.q.{kind}"] = query
            weights[f"{ours}.cross.kv.{kind}"] = torch.cat(key_value)
            weights[f"{ours}.cross.out.{kind}"] = tensors.take(f"{theirs}.encoder_attn.out_proj.{kind}")
    norms = [("attention", "self_attn_layer_norm", 0), ("feed_forward", "final_layer_norm", -1)]
    norms += [("cross", "encoder_attn_layer_norm", 1)] if side == "decoder" else []
    for part, name, place in norms:
        numbered = f"{theirs}.layer_norms.{place % (3 if side == 'decoder' else 2)}"
        weights.update(_norm(tensors, f"{ours}.{part}_residual.norm", f"{theirs}.{name}", numbered))
    return weights


def _query_key_value(tensors: Tensors, attention: str, kind: str) -> list[Tensor]:
    fused = tensors.find(f"{attention}.in_proj_{kind}")
    if fused is not None:
        return list(fused.chunk(3))
    return [tensors.take(f"{attention}.{part}_proj.{kind}") for part in ("q", "k", "v")]


def _norm(tensors: Tensors, ours: str, *theirs: str) -> dict[str, Tensor]:
    return {
        f"{ours}.{kind}": tensors.take(*(f"{name}.{spelling}" for name in theirs for spelling in (kind, old)))
        for kind, old in (("weight", "gamma"), ("bias", "beta"))
    }


def _setting(checkpoint: Checkpoint, name: str) -> Any:
    if name not in checkpoint.settings:
        raise UserError(f"{checkpoint.path} has no setting {name.replace('_', '-')}, so it is incomplete.")
    return checkpoint.settings[name]


def _both(checkpoint: Checkpoint, name: str) -> int:
    """Setting that must be the same in encoder and decoder."""
    encoder, decoder = (_setting(checkpoint, f"{side}_{name}") for side in ("encoder", "decoder"))
    if encoder != decoder:
        raise UserError(
            f"{checkpoint.path} has another {name.replace('_', '-')} in its encoder ({encoder}) than in its decoder "
            f"({decoder}), which is not supported."
        )
    return int(encoder)


def _activation(checkpoint: Checkpoint, defaults: ArchitectureDefaults) -> Literal["gelu", "relu"]:
    name = checkpoint.settings.get("activation_fn", defaults.activation)
    if name not in ("gelu", "relu"):
        raise UserError(f"{checkpoint.path} has the activation {name}; only gelu and relu are supported.")
    return "gelu" if name == "gelu" else "relu"


def languages_setting(settings: Mapping[str, Any], path: object) -> tuple[str, str]:
    """Source and target language of a model."""
    source, target = settings.get("source_lang"), settings.get("target_lang")
    if not source or not target:
        raise UserError(f"{path} does not name its languages (source-lang, target-lang).")
    return str(source), str(target)
