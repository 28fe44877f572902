"""The whole transformer, top to bottom: attention, feed-forward, layers, encoder, decoder.

The encoder and decoder are those of Vaswani et al. with the choices of the Mask-Predict authors (section 4.1 of the
paper and their released code): learned positions, exact GELU, no embedding scale. A CMLM's decoder sees the whole
target; an autoregressive one is the same decoder called with `causal=True`.

Shape letters: B rows, S source positions, T target positions, D width, H heads, K head size, V vocabulary. A tensor
written [..., D] may be [B, T, D] or packed [N, D]; `layout.py` says which.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Layout, Padded, attend, attend_seen


class SelfAttention(nn.Module):
    """Attention of every position to every position of its sentence, or only to earlier ones."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)

    def split(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values, each [..., H, K]."""
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).unbind(-3)
        return q, k, v

    def forward(self, x: Tensor, layout: Layout, *, causal: bool = False) -> Tensor:
        """x [..., D] -> [..., D]."""
        q, k, v = self.split(x)
        return self.out(attend(q, k, v, layout, layout, causal=causal).flatten(-2))


class CrossAttention(nn.Module):
    """Attention of every target position to every source position."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.q = nn.Linear(config.width, config.width)
        self.kv = nn.Linear(config.width, 2 * config.width)
        self.out = nn.Linear(config.width, config.width)

    def memory(self, encoded: Tensor) -> Memory:
        """Return keys and values of the source, which are computed once per sentence."""
        k, v = self.kv(encoded).unflatten(-1, (2, self.heads, -1)).unbind(-3)
        return Memory(k, v)

    def forward(self, x: Tensor, layout: Layout, memory: Memory, source: Layout) -> Tensor:
        """x [..., D] -> [..., D]."""
        q = self.q(x).unflatten(-1, (self.heads, -1))
        return self.out(attend(q, memory.keys, memory.values, layout, source).flatten(-2))


@dataclass(frozen=True)
class Memory:
    """Cross-attention keys and values of a decoder layer, [..., H, K]."""

    keys: Tensor
    values: Tensor


class FeedForward(nn.Module):
    """Two linear maps with a non-linearity between them."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.width, config.hidden)
        self.outer = nn.Linear(config.hidden, config.width)
        self.activation = F.gelu if config.activation == "gelu" else F.relu

    def forward(self, x: Tensor) -> Tensor:
        """x [..., D] -> [..., D]."""
        return self.outer(self.activation(self.inner(x)))


class Residual(nn.Module):
    """A sublayer with its residual sum, dropout and layer norm, in pre- or post-norm order."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """x [..., D] -> [..., D]."""
        if self.pre:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention, self.attention_residual = SelfAttention(config), Residual(config)
        self.feed_forward, self.feed_forward_residual = FeedForward(config), Residual(config)

    def forward(self, x: Tensor, layout: Layout) -> Tensor:
        """x [..., D] -> [..., D]."""
        x = self.attention_residual(x, lambda h: self.attention(h, layout))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention, feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention, self.attention_residual = SelfAttention(config), Residual(config)
        self.cross, self.cross_residual = CrossAttention(config), Residual(config)
        self.feed_forward, self.feed_forward_residual = FeedForward(config), Residual(config)

    def forward(self, x: Tensor, layout: Layout, memory: Memory, source: Layout, *, causal: bool) -> Tensor:
        """x [..., D] -> [..., D]."""
        x = self.attention_residual(x, lambda h: self.attention(h, layout, causal=causal))
        x = self.cross_residual(x, lambda h: self.cross(h, layout, memory, source))
        return self.feed_forward_residual(x, self.feed_forward)

    def step(
        self, x_BKD: Tensor, cache: KVCache, time: int, seen_BKS: Tensor, memory: Memory, source: Padded
    ) -> Tensor:
        """Run one position of causal decoding, for the K beams of each sentence.

        `cache` is the KV cache of all beams before position `time`; `seen_BKS` is True for the keys of a beam's prefix.
        """

        def attention(h_BKD: Tensor) -> Tensor:
            q, k, v = self.attention.split(h_BKD)
            cache.write(time, k, v)
            positions = seen_BKS.shape[2] // h_BKD.shape[1]
            keys, values = (x[:, :positions].flatten(1, 2) for x in (cache.keys, cache.values))
            return self.attention.out(attend_seen(q, keys, values, seen_BKS).flatten(-2))

        beams = Padded.of(torch.full_like(source.lengths_B, x_BKD.shape[1]), x_BKD.shape[1])
        x_BKD = self.attention_residual(x_BKD, attention)
        x_BKD = self.cross_residual(x_BKD, lambda h: self.cross(h, beams, memory, source))
        return self.feed_forward_residual(x_BKD, self.feed_forward)


@dataclass
class KVCache:
    """KV cache of one decoder layer, [B, T, beams, H, K]."""

    keys: Tensor
    values: Tensor

    def write(self, time: int, keys: Tensor, values: Tensor) -> None:
        """Set the keys and values [B, beams, H, K] at a position."""
        self.keys[:, time], self.values[:, time] = keys, values

    def select(self, index: Tensor) -> KVCache:
        """Return the cache of some sentences."""
        return type(self)(self.keys[index], self.values[index])

    def grow(self, positions: int) -> None:
        """Extend the cache by `positions` positions."""
        self.keys, self.values = (F.pad(x, (0, 0, 0, 0, 0, 0, 0, positions)) for x in (self.keys, self.values))


class Embedding(nn.Module):
    """Tokens and their positions."""

    def __init__(self, config: ModelConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        self.tokens = tokens
        self.positions = nn.Embedding(config.max_positions, config.width)
        self.scale = math.sqrt(config.width) if config.scale_embeddings else 1.0
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, ids: Tensor, positions: Tensor, *, slot: Tensor | None = None) -> Tensor:
        """ids [...] -> [..., D]. With `slot`, each sentence starts with that vector [D], without position embedding."""
        if slot is None:
            return self._stream(self.tokens(ids) * self.scale + self.positions(positions))
        x = self.tokens(ids) * self.scale + self.positions((positions - 1).clamp(min=0))
        return self._stream(torch.where((positions == 0).unsqueeze(-1), slot, x))

    def words(self, ids: Tensor) -> Tensor:
        """ids [...] -> [..., D], to be added to hidden states: without positions, and as large as these."""
        return self._stream(self.tokens(ids) * math.sqrt(self.tokens.embedding_dim))

    def _stream(self, x: Tensor) -> Tensor:
        # Under mixed precision the residual stream is in half precision, because its sums are limited by memory.
        device = x.device.type
        half = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
        return self.dropout(x.to(half))


class Transformer(nn.Module):
    """Encoder, decoder and output projection. The system defines the training objective."""

    sentence_by_sentence: ClassVar[bool] = False
    """True if a sentence's result does not depend on the batch, even without padding."""

    def __init__(self, config: ModelConfig, source_vocab: int, target_vocab: int) -> None:
        super().__init__()
        self.config = config
        target_tokens = nn.Embedding(target_vocab, config.width)
        shared = config.embeddings == "shared"
        self.source = Embedding(config, target_tokens if shared else nn.Embedding(source_vocab, config.width))
        self.target = Embedding(config, target_tokens)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.output = nn.Linear(config.width, target_vocab, bias=False)
        if config.embeddings != "separate":
            self.output.weight = target_tokens.weight

        def final_norm() -> nn.Module:
            return nn.LayerNorm(config.width, eps=config.norm_epsilon) if config.norm == "pre" else nn.Identity()

        self.encoder_norm, self.decoder_norm = final_norm(), final_norm()
        self.apply(initialise)

    def encode(self, ids: Tensor, layout: Layout, *, slot: Tensor | None = None) -> Tensor:
        """Source ids [...] -> [..., D]; `slot` as in `Embedding`."""
        x = self.source(ids, layout.positions, slot=slot)
        for layer in self.encoder:
            x = layer(x, layout)
        return self.encoder_norm(x)

    def memory(self, encoded: Tensor) -> list[Memory]:
        """Return the cross-attention keys and values of each decoder layer."""
        return [layer.cross.memory(encoded) for layer in self.decoder]  # type: ignore[union-attr, operator]

    def memory_for_steps(self, encoded: Tensor) -> list[Memory]:
        """Return what `memory` returns, in the layout of `decode_step`."""
        return self.memory(encoded)

    def decode(self, ids: Tensor, layout: Layout, memory: list[Memory], source: Layout, *, causal: bool) -> Tensor:
        """Target ids [...] -> [..., D]; project with `output`."""
        return self.decode_states(self.target(ids, layout.positions), layout, memory, source, causal=causal)

    def decode_states(self, x: Tensor, layout: Layout, memory: list[Memory], source: Layout, *, causal: bool) -> Tensor:
        """Run `decode` on vectors [..., D] instead of ids."""
        for layer, layer_memory in zip(self.decoder, memory, strict=True):
            x = layer(x, layout, layer_memory, source, causal=causal)
        return self.decoder_norm(x)

    def decode_step(
        self, ids_BK: Tensor, time: int, caches: list[KVCache], seen_BKS: Tensor, memory: list[Memory], source: Padded
    ) -> Tensor:
        """Feed `ids_BK` at position `time` of causal decoding, and return hidden vectors [B, K, D]."""
        x = self.target(ids_BK, torch.full_like(ids_BK, time))
        for layer, layer_cache, layer_memory in zip(self.decoder, caches, memory, strict=True):
            x = layer.step(x, layer_cache, time, seen_BKS, layer_memory, source)  # type: ignore[operator]
        return self.decoder_norm(x)

    def logits(self, hidden_RD: Tensor) -> Tensor:
        """Decoder output [R, D] -> [R, V]."""
        return unrounded_product(hidden_RD, self.output.weight)

    def new_caches(self, rows: int, beams: int, positions: int) -> list[KVCache]:
        """Return an empty KV cache of each decoder layer, for `rows` sentences."""
        weight = self.output.weight
        shape = (rows, positions, beams, self.config.heads, self.config.width // self.config.heads)
        return [KVCache(weight.new_zeros(shape), weight.new_zeros(shape)) for _ in self.decoder]


def initialise(module: nn.Module) -> None:
    """Apply BERT's initialisation, as in the paper: N(0, 0.02), biases 0, layer norms (1, 0)."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


def unrounded_product(x_RD: Tensor, weight_VD: Tensor) -> Tensor:
    """Return x times the transposed weights, in float32 even if both are in half precision.

    For results that are compared with each other: half precision would make ties.
    """
    if weight_VD.dtype not in (torch.float16, torch.bfloat16) or torch.is_grad_enabled():
        return F.linear(x_RD, weight_VD)
    if x_RD.is_cuda:  # a GPU accumulates in float32
        return torch.mm(x_RD, weight_VD.t(), out_dtype=torch.float32)
    return F.linear(x_RD.float(), weight_VD.float())


def suppress(logits: Tensor, tokens: Sequence[int]) -> Tensor:
    """Return logits [..., V] with -inf for some tokens."""
    if not tokens:
        return logits
    return logits.index_fill(-1, torch.tensor(tokens, device=logits.device), float("-inf"))
