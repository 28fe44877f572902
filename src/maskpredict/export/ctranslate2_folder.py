"""Export of an autoregressive model to CTranslate2: its weights under CTranslate2's names, and its vocabularies.

CTranslate2 runs causal decoders only, so a CMLM cannot be exported. The layers are the same. Suppressed ids become a
bias of the output, CTranslate2 adds the end mark of the source, and its layer norms get our epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from maskpredict.engines.torch.loading import load_system
from maskpredict.errors import UserError
from maskpredict.export.writing import Exported, FolderFormat, export_folder
from maskpredict.model.folder import CARD_FILE, ModelFolder
from maskpredict.runtime.settings import resolve_settings
from maskpredict.systems.autoregressive import Autoregressive
from maskpredict.tokenizer import Tokenizer

FORMAT = FolderFormat(
    "CTranslate2", ("float32", "float16", "bfloat16", "int8"), marker="model.bin", packages=("ctranslate2",)
)
SUPPRESSED = -1e4
"""Bias of the logits of suppressed ids: gives a probability of exactly 0, and fits into half precision."""


def export_ctranslate2(
    model: str | Path | ModelFolder, out: Path, *, precision: str = "float32", overwrite: bool = False
) -> Exported:
    """Write an autoregressive model as a CTranslate2 folder."""
    with export_folder(FORMAT, model, out, precision=precision, overwrite=overwrite) as (contents, partial):
        if contents.system != Autoregressive.name:
            raise UserError(
                f"CTranslate2 runs autoregressive models and this is a {contents.system}; onnx takes a cmlm, too."
            )
        specification = _specification(contents)
        specification.validate()
        specification.optimize(quantization=precision)
        specification.save(str(partial))
        contents.tokenizers.save(partial)
        (partial / CARD_FILE).write_text(contents.card, encoding="utf-8")
    return Exported.of(out)


def _specification(contents: ModelFolder) -> Any:
    from ctranslate2.specs import common_spec, transformer_spec

    config, source, target = contents.config, contents.tokenizers.source, contents.tokenizers.target
    specification = transformer_spec.TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers),
        config.heads,
        pre_norm=config.norm == "pre",
        activation=common_spec.Activation.GELU if config.activation == "gelu" else common_spec.Activation.RELU,
    )
    system = load_system(contents)
    weights = _Weights(system.state_dict())
    weights.fill_encoder(specification.encoder, scale=config.scale_embeddings)
    weights.fill_decoder(specification.decoder, scale=config.scale_embeddings)
    suppressed = resolve_settings(contents.system, contents.generation, {}).suppress_tokens
    specification.decoder.projection.bias = _suppression_bias(suppressed, target.vocab_size)
    specification.register_source_vocabulary(_pieces(source))
    specification.register_target_vocabulary(_pieces(target))
    special = target.special
    unknown, begin, end = target.pieces([special.unk, special.bos, special.eos])
    specification.config.unk_token = unknown
    specification.config.bos_token = specification.config.decoder_start_token = begin
    specification.config.eos_token = end
    specification.config.add_source_eos = True
    specification.config.layer_norm_epsilon = config.norm_epsilon
    return specification


def _pieces(tokenizer: Tokenizer) -> list[str]:
    return tokenizer.pieces(range(tokenizer.vocab_size))


def _suppression_bias(suppressed: Sequence[int], vocab_size: int) -> np.ndarray:
    bias = np.zeros(vocab_size, dtype=np.float32)
    bias[list(suppressed)] = SUPPRESSED
    return bias


class _Weights:
    """Copies our tensors into CTranslate2's layer specifications."""

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        self.tensors = tensors

    def array(self, name: str) -> np.ndarray:
        return self.tensors[f"transformer.{name}"].numpy()

    def fill_encoder(self, encoder: Any, *, scale: bool) -> None:
        self._inputs(encoder, encoder.embeddings[0], "source", scale)
        for number, layer in enumerate(encoder.layer):
            ours = f"encoder.{number}"
            self._self_attention(layer.self_attention, ours)
            self._feed_forward(layer.ffn, ours)
        self._final_norm(encoder, "encoder_norm")

    def fill_decoder(self, decoder: Any, *, scale: bool) -> None:
        self._inputs(decoder, decoder.embeddings, "target", scale)
        for number, layer in enumerate(decoder.layer):
            ours = f"decoder.{number}"
            self._self_attention(layer.self_attention, ours)
            for linear, name in zip(layer.attention.linear, ("q", "kv", "out"), strict=True):
                self._linear(linear, f"{ours}.cross.{name}")
            self._norm(layer.attention.layer_norm, f"{ours}.cross_residual.norm")
            self._feed_forward(layer.ffn, ours)
        self._final_norm(decoder, "decoder_norm")
        decoder.projection.weight = self.array("output.weight")

    def _inputs(self, side: Any, embeddings: Any, name: str, scale: bool) -> None:
        embeddings.weight = self.array(f"{name}.tokens.weight")
        side.position_encodings.encodings = self.array(f"{name}.positions.weight")
        side.scale_embeddings = scale

    def _self_attention(self, attention: Any, ours: str) -> None:
        for linear, name in zip(attention.linear, ("qkv", "out"), strict=True):
            self._linear(linear, f"{ours}.attention.{name}")
        self._norm(attention.layer_norm, f"{ours}.attention_residual.norm")

    def _feed_forward(self, feed_forward: Any, ours: str) -> None:
        self._linear(feed_forward.linear_0, f"{ours}.feed_forward.inner")
        self._linear(feed_forward.linear_1, f"{ours}.feed_forward.outer")
        self._norm(feed_forward.layer_norm, f"{ours}.feed_forward_residual.norm")

    def _linear(self, linear: Any, name: str) -> None:
        linear.weight, linear.bias = self.array(f"{name}.weight"), self.array(f"{name}.bias")

    def _norm(self, norm: Any, name: str) -> None:
        norm.gamma, norm.beta = self.array(f"{name}.weight"), self.array(f"{name}.bias")

    def _final_norm(self, side: Any, name: str) -> None:
        if f"transformer.{name}.weight" in self.tensors:  # post-norm models have no final norm
            self._norm(side.layer_norm, name)
