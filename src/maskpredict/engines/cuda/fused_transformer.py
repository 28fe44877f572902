"""The transformer with fused kernels, for translating a few sentences on a GPU.

With few rows a GPU spends its time on kernel launches. So a layer norm, the linear layer after it, its non-linearity
and the residual sum are one kernel, and a decoder layer takes seven launches instead of fifteen. For inference with
pre-norm models in half precision. Padding is computed and ignored.

Shape letters: B sentences, R drafts (the same number for each sentence), S source positions, T target positions, P of
them whose output is needed, N rows of the flat batch, D width, H heads, K head size, V vocabulary; in `decode_step`, K
beams.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from maskpredict.kernels.reference import Activation, BlockBests, Ops
from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Layout, Padded
from maskpredict.model.transformer import CrossAttention, DecoderLayer, EncoderLayer, KVCache, Memory, Transformer

MAX_FUSED_ROWS = 768
"""Rows beyond which arithmetic counts more than launches, and PyTorch's kernels are faster."""


def suits(config: ModelConfig) -> bool:
    """Return True if the kernels support models of this shape."""
    head = config.width // config.heads
    whole_blocks = config.width % 32 == 0 and config.hidden % 32 == 0 and config.width <= 1024
    long_enough = config.max_positions >= 16  # for the batch of `fused_if_equal`
    return config.norm == "pre" and whole_blocks and long_enough and head in (16, 32, 64, 128)


class FusedTransformer(Transformer):
    """A transformer's modules run by fused operations: `ops` is `kernels.reference`, or `kernels.fused` on a GPU."""

    def __init__(self, plain: Transformer, ops: Ops) -> None:
        assert suits(plain.config)
        nn.Module.__init__(self)
        self.config, self.ops = plain.config, ops
        for name, part in plain.named_children():
            self.add_module(name, part)

    def encode(self, ids: Tensor, layout: Layout, *, slot: Tensor | None = None) -> Tensor:
        """As in `Transformer`."""
        if not isinstance(layout, Padded):
            return super().encode(ids, layout, slot=slot)
        encoded_BSD: Tensor = self.encoder_norm(self.source_stream(ids, layout.lengths_B, slot=slot))
        return encoded_BSD

    def source_stream(self, ids_BS: Tensor, lengths_B: Tensor, *, slot: Tensor | None = None) -> Tensor:
        """Return the encoder's residual stream [B, S, D]: what `encode` returns before the final layer norm."""
        source = self.source
        x_BSD = self.ops.embed(ids_BS, source.tokens.weight, source.positions.weight, source.scale, slot_D=slot)
        x_ND = x_BSD.flatten(0, 1)
        for layer in self.encoder:
            assert isinstance(layer, EncoderLayer)
            x_ND = self._feed_forward(layer, self._self_attention(layer, x_ND, lengths_B))
        return x_ND.view(x_BSD.shape)

    def first_scores(self, stream_BSD: Tensor, weight_CD: Tensor, bias_C: Tensor) -> Tensor:
        """Return scores [B, C], float32: a linear layer over the encoder's output at each sentence's first position."""
        assert isinstance(self.encoder_norm, nn.LayerNorm)
        return self.ops.scores(stream_BSD[:, 0], self.encoder_norm, weight_CD, bias_C)

    def memory(self, encoded: Tensor) -> list[Memory]:
        """As in `Transformer`."""
        return self._memory(encoded, None)

    def memory_of_stream(self, stream_BSD: Tensor) -> list[Memory]:
        """Return what `memory` returns, from the stream of `source_stream`."""
        assert isinstance(self.encoder_norm, nn.LayerNorm)
        return self._memory(stream_BSD, self.encoder_norm)

    def target_stream(
        self,
        ids_RT: Tensor,
        lengths_R: Tensor,
        memory: list[Memory],
        source_lengths_B: Tensor,
        places_RP: Tensor | None = None,
    ) -> Tensor:
        """Return the decoder's residual stream [R, T, D]: non-causal `decode` before the final layer norm.

        With `places_RP`, P rows of the flat batch for each draft, return [R, P, D]: the last layer computes only these.
        """
        target = self.target
        x_RTD = self.ops.embed(ids_RT, target.tokens.weight, target.positions.weight, target.scale)
        return self.target_stream_of(x_RTD, lengths_R, memory, source_lengths_B, places_RP)

    def target_stream_of(
        self,
        x_RTD: Tensor,
        lengths_R: Tensor,
        memory: list[Memory],
        source_lengths_B: Tensor,
        places_RP: Tensor | None = None,
    ) -> Tensor:
        """Return what `target_stream` returns, for vectors instead of ids."""
        rows, x_ND = len(x_RTD), x_RTD.flatten(0, 1)
        for layer, layer_memory in zip(self.decoder, memory, strict=True):
            assert isinstance(layer, DecoderLayer)
            # The keys and values of every row are needed up to the last layer.
            needed_RP = places_RP if layer is self.decoder[-1] else None
            x_ND = self._self_attention(layer, x_ND, lengths_R, needed_RP)
            x_ND = self._cross_attention(layer, x_ND, rows, layer_memory, source_lengths_B)
            x_ND = self._feed_forward(layer, x_ND)
        return x_ND.view(rows, -1, x_RTD.shape[2])

    def split_states(self, stream_BSD: Tensor, split: nn.Linear) -> Tensor:
        """Return the states [B, T, D] of an alignment's positions, several for each of the source, from the stream of
        `source_stream`."""
        assert isinstance(self.encoder_norm, nn.LayerNorm)
        states = self._linear(stream_BSD.flatten(0, 1), split, norm=self.encoder_norm)
        return states.view(len(stream_BSD), -1, stream_BSD.shape[2])

    def add_words(self, states_RTD: Tensor, ids_RT: Tensor, hidden: int) -> Tensor:
        """Return states plus the embeddings of what an alignment shows; the id `hidden` adds nothing."""
        tokens = self.target.tokens.weight
        return self.ops.add_words(states_RTD, ids_RT, tokens, math.sqrt(tokens.shape[1]), hidden)

    def best_of_stream(self, stream_RTD: Tensor, penalty_V: Tensor) -> BlockBests:
        """Return the best token of each vocabulary block at every position of a `target_stream`."""
        assert isinstance(self.decoder_norm, nn.LayerNorm)
        return self.ops.block_bests(stream_RTD.flatten(0, 1), self.decoder_norm, self.output.weight, penalty_V)

    def decode_step(
        self, ids_BK: Tensor, time: int, caches: list[KVCache], seen_BKS: Tensor, memory: list[Memory], source: Padded
    ) -> Tensor:
        """As in `Transformer`."""
        target = self.target
        ids_N1 = ids_BK.flatten()[:, None]
        x_ND = self.ops.embed(ids_N1, target.tokens.weight, target.positions.weight, target.scale, time)[:, 0]
        for layer, layer_cache, layer_memory in zip(self.decoder, caches, memory, strict=True):
            assert isinstance(layer, DecoderLayer)
            x_ND = self._step(layer, x_ND, layer_cache, time, seen_BKS)
            x_ND = self._cross_attention(layer, x_ND, len(ids_BK), layer_memory, source.lengths_B)
            x_ND = self._feed_forward(layer, x_ND)
        hidden_ND: Tensor = self.decoder_norm(x_ND)
        return hidden_ND.view(*ids_BK.shape, -1)

    def _self_attention(
        self, layer: EncoderLayer | DecoderLayer, x_ND: Tensor, lengths_R: Tensor, places_RP: Tensor | None = None
    ) -> Tensor:
        attention = layer.attention
        qkv = self._linear(x_ND, attention.qkv, norm=layer.attention_residual.norm)
        q, k, v = qkv.view(len(lengths_R), -1, 3, attention.heads, qkv.shape[1] // (3 * attention.heads)).unbind(2)
        attended_ND = self.ops.attend(q, k, v, lengths_R).flatten(0, 1).flatten(1)
        return self._linear(attended_ND, attention.out, residual_NM=x_ND, places_RP=places_RP)

    def _step(self, layer: DecoderLayer, x_ND: Tensor, cache: KVCache, time: int, seen_BKS: Tensor) -> Tensor:
        """Run self-attention for one position of each beam; `cache` and `seen_BKS` as in `DecoderLayer.step`."""
        beams, keys = seen_BKS.shape[1:]
        attention, norm = layer.attention, layer.attention_residual.norm
        q_ND = self.ops.linear_into(x_ND, attention.qkv, norm, cache.keys[:, time], cache.values[:, time])
        q = q_ND.view(len(seen_BKS), beams, attention.heads, -1)
        k, v = (x[:, : keys // beams].flatten(1, 2) for x in (cache.keys, cache.values))
        attended_ND = self.ops.attend_seen(q, k, v, seen_BKS).flatten(0, 1).flatten(1)
        return self._linear(attended_ND, attention.out, residual_NM=x_ND)

    def _cross_attention(
        self, layer: DecoderLayer, x_ND: Tensor, rows: int, memory: Memory, source_lengths_B: Tensor
    ) -> Tensor:
        cross, norm = layer.cross, layer.cross_residual.norm
        attended_ND = self.ops.cross_attend(x_ND, norm, cross.q, memory.keys, memory.values, source_lengths_B, rows)
        return self._linear(attended_ND, cross.out, residual_NM=x_ND)

    def _feed_forward(self, layer: EncoderLayer | DecoderLayer, x_ND: Tensor) -> Tensor:
        feed_forward, norm = layer.feed_forward, layer.feed_forward_residual.norm
        inner = self._linear(x_ND, feed_forward.inner, norm=norm, activation=self.config.activation)
        return self._linear(inner, feed_forward.outer, residual_NM=x_ND)

    def _linear(
        self,
        x_NK: Tensor,
        layer: nn.Linear,
        *,
        norm: nn.LayerNorm | None = None,
        activation: Activation | None = None,
        residual_NM: Tensor | None = None,
        places_RP: Tensor | None = None,
    ) -> Tensor:
        return self.ops.linear(
            x_NK,
            layer.weight,
            layer.bias,
            norm=norm,
            activation=activation,
            residual_NM=residual_NM,
            places_RP=places_RP,
        )

    def _memory(self, x_BSD: Tensor, norm: nn.LayerNorm | None) -> list[Memory]:
        memory = []
        for layer in self.decoder:
            cross = layer.cross
            assert isinstance(cross, CrossAttention)
            kv = self._linear(x_BSD.flatten(0, 1), cross.kv, norm=norm)
            k, v = kv.view(*x_BSD.shape[:2], 2, cross.heads, x_BSD.shape[2] // cross.heads).unbind(2)
            memory.append(Memory(k, v))
        return memory


def suppression_penalty(suppressed: tuple[int, ...], vocabulary: int, device: torch.device) -> Tensor:
    """Return the `penalty_V` of `Ops.block_bests`: -inf for suppressed tokens, 0 for all others."""
    penalty_V = torch.zeros(vocabulary, dtype=torch.float32, device=device)
    return penalty_V.index_fill_(0, torch.tensor(suppressed, dtype=torch.long, device=device), float("-inf"))
