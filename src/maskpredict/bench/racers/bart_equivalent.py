"""Conversion of an autoregressive model to BART or mBART of transformers, with the same architecture and weights.

BART has our post-norm layers and mBART our pre-norm layers, with learned positions, exact GELU and BOS as the first
decoder input. Two differences are removed: the layer norm after the embeddings, which our models lack, and the fixed
epsilon of the layer norms. `generate` is unchanged, so its speed is what a user of transformers gets for this model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskpredict.engines.torch.loading import load_system
from maskpredict.model.config import ModelConfig
from maskpredict.model.folder import ModelFolder
from maskpredict.runtime.settings import resolve_settings
from maskpredict.special_ids import SpecialIds

POSITION_OFFSET = 2
"""Unused rows at the start of BART's position tables."""

# Our names of the parts of a layer, and those of BART. Some of our matrices are several in BART.
_PARTS = {
    "attention.qkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "attention.out": ("self_attn.out_proj",),
    "attention_residual.norm": ("self_attn_layer_norm",),
    "cross.q": ("encoder_attn.q_proj",),
    "cross.kv": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "cross.out": ("encoder_attn.out_proj",),
    "cross_residual.norm": ("encoder_attn_layer_norm",),
    "feed_forward.inner": ("fc1",),
    "feed_forward.outer": ("fc2",),
    "feed_forward_residual.norm": ("final_layer_norm",),
}
_TOP = {
    "source.tokens.weight": "model.encoder.embed_tokens.weight",
    "target.tokens.weight": "model.decoder.embed_tokens.weight",
    "output.weight": "lm_head.weight",
}
_TABLES = {
    "source.positions.weight": "model.encoder.embed_positions.weight",
    "target.positions.weight": "model.decoder.embed_positions.weight",
}


def to_bart(contents: ModelFolder) -> Any:
    """Convert a model to `BartForConditionalGeneration` or `MBartForConditionalGeneration`, in float32 on the CPU."""
    from transformers import BartConfig, BartForConditionalGeneration, MBartConfig, MBartForConditionalGeneration

    special, vocab_size = contents.tokenizers.target.special, contents.tokenizers.target.vocab_size
    shape = {**_shape(contents.config, special), "vocab_size": vocab_size}
    bart: Any
    with torch.device("meta"):  # skips the random initialization
        if contents.config.norm == "pre":
            bart = MBartForConditionalGeneration(MBartConfig(**shape))
        else:
            bart = BartForConditionalGeneration(BartConfig(**shape))
    for side in (bart.model.encoder, bart.model.decoder):
        side.layernorm_embedding = nn.Identity()
    system = load_system(contents)
    suppressed = resolve_settings(contents.system, contents.generation, {}).suppress_tokens
    weights = dict(_renamed(system.state_dict()))
    weights["model.shared.weight"] = weights["model.decoder.embed_tokens.weight"]
    weights["final_logits_bias"] = _suppression_bias(suppressed, vocab_size)
    bart.load_state_dict(weights, assign=True)
    for module in bart.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = contents.config.norm_epsilon
    return bart.eval()


def _shape(config: ModelConfig, special: SpecialIds) -> dict[str, Any]:
    return {
        "d_model": config.width,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "encoder_ffn_dim": config.hidden,
        "decoder_ffn_dim": config.hidden,
        "activation_function": config.activation,
        "scale_embedding": config.scale_embeddings,
        "max_position_embeddings": config.max_positions,
        "pad_token_id": special.pad,
        "bos_token_id": special.bos,
        "eos_token_id": special.eos,
        "decoder_start_token_id": special.bos,
        "forced_eos_token_id": None,
    }


def _renamed(ours: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    for full_name, tensor in ours.items():
        name = full_name.removeprefix("transformer.")
        side, _, rest = name.partition(".")
        if name in _TOP:
            yield _TOP[name], tensor
        elif name in _TABLES:
            yield _TABLES[name], F.pad(tensor, (0, 0, POSITION_OFFSET, 0))
        elif side.endswith("_norm"):
            yield f"model.{side.removesuffix('_norm')}.layer_norm.{rest}", tensor
        else:
            layer, _, rest = rest.partition(".")
            part, _, kind = rest.rpartition(".")
            for theirs, piece in zip(_PARTS[part], tensor.chunk(len(_PARTS[part])), strict=True):
                yield f"model.{side}.layers.{layer}.{theirs}.{kind}", piece


def _suppression_bias(suppressed: tuple[int, ...], vocab_size: int) -> Tensor:
    """Output bias that suppresses ids; cheaper than a logits processor."""
    bias = torch.zeros(1, vocab_size)
    bias[:, list(suppressed)] = float("-inf")
    return bias
