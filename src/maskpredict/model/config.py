"""The shape of a model, and sizes by name, the paper's three among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from maskpredict.bounds import Fraction, NonNegativeFloat, NonNegativeInt, PositiveInt
from maskpredict.config import check_bounds, from_dict, to_dict
from maskpredict.errors import UserError


@dataclass(frozen=True)
class ModelConfig:
    """Architecture of the encoder-decoder transformer; the defaults are the paper's base model."""

    width: PositiveInt = 512
    """Model dimension: the size of every hidden vector between layers."""
    hidden: PositiveInt = 2048
    """Inner dimension of the feed-forward layers."""
    heads: PositiveInt = 8
    """Attention heads per layer."""
    encoder_layers: NonNegativeInt = 6
    """Layers in the encoder."""
    decoder_layers: PositiveInt = 6
    """Layers in the decoder."""
    dropout: Fraction = 0.3
    """Dropout on embeddings and on the output of every sublayer."""
    norm: Literal["post", "pre"] = "post"
    """Layer norm after each residual sum, as the authors do, or before each sublayer (easier in short runs)."""
    activation: Literal["gelu", "relu"] = "gelu"
    """Non-linearity of the feed-forward layers; gelu is the exact (erf) one."""
    norm_epsilon: NonNegativeFloat = 1e-12
    """Epsilon of every layer norm."""
    scale_embeddings: bool = False
    """Multiply token embeddings by sqrt(width), as Vaswani et al. do and the authors do not."""
    embeddings: Literal["shared", "target", "separate"] = "shared"
    """One table for encoder, decoder and output (shared), for decoder and output (target), or three (separate)."""
    max_positions: PositiveInt = 512
    """Longest sentence in subwords, end mark included; also the number of length classes."""
    length_classes: PositiveInt | None = None
    """Number of length classes where it differs, as in some imported models."""
    ctc_positions: PositiveInt = 3
    """Decoder positions of a CTC or alignment model for each source subword; each predicts a word or a blank."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if self.width % self.heads:
            raise UserError(f"model.width {self.width} must be a multiple of model.heads {self.heads}.")
        if self.max_positions % 8:
            raise UserError(f"model.max_positions is {self.max_positions}; use a multiple of 8.")


PRESETS: dict[str, ModelConfig] = {
    "tiny": ModelConfig(width=128, hidden=256, heads=4, encoder_layers=2, decoder_layers=2, dropout=0.1, norm="pre"),
    "compact": ModelConfig(
        width=256, hidden=1024, heads=4, encoder_layers=6, decoder_layers=2, dropout=0.1, norm="pre", ctc_positions=2
    ),
    "small": ModelConfig(hidden=512),
    "base": ModelConfig(),
    "large": ModelConfig(width=1024, hidden=4096, heads=16),
}
"""Sizes by name: `small`, `base` and `large` are the paper's; `tiny` trains on a CPU in minutes; `compact` is for
alignment models in browsers and on small devices, with a vocabulary of 8,000."""


def preset(name: str, changes: Mapping[str, Any]) -> ModelConfig:
    """Return the named size, with some values changed."""
    if name not in PRESETS:
        raise UserError(f"there is no model preset '{name}'; choose one of {', '.join(PRESETS)}.")
    return from_dict(ModelConfig, {**to_dict(PRESETS[name]), **changes}, key="model")
