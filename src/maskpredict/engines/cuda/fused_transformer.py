"""The transformer once more, for translating a few sentences on a GPU: the same weights in as few launches as possible.

A GPU that computes a handful of rows spends its time on starting kernels. So a layer norm, the linear layer after it,
its non-linearity and the residual sum are one kernel, and a decoder layer is seven instead of fifteen. For pre-norm
models in half precision, and for translating only. Filling is computed along and never looked at.

Shape letters: B sentences, R drafts (some for each sentence), S source positions, T target positions, P of them whose
output is wanted, N rows of the batch end to end, D width, H heads, K head size, V vocabulary; in `decode_step`, K
beams.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from maskpredict.kernels.reference import Activation, BlockBests, Ops
from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Layout, Padded
from maskpredict.model.transformer import CrossAttention, DecoderLayer, EncoderLayer, Memory, Past, Transformer

MOST_ROWS = 768
"""Rows beyond which arithmetic counts more than launches, and general kernels are better at it."""


def suits(config: ModelConfig) -> bool:
    """Whether the kernels are made for models of this shape."""
    head = config.width // config.heads
    whole_blocks = config.width % 32 == 0 and config.hidden % 32 == 0 and config.width <= 1024
    long_enough = config.max_positions >= 16  # for the batch that `fused_view` tries them on
    return config.norm == "pre" and whole_blocks and long_enough and head in (16, 32, 64, 128)


class FusedTransformer(Transformer):
    """Takes over the parts of a transformer; `ops` is `fused_ops` or, on a GPU, `fused_ops_gpu`."""

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
        """What `encode` returns, [B, S, D], before its last layer norm."""
        source = self.source
        x_BSD = self.ops.embed(ids_BS, source.tokens.weight, source.positions.weight, source.scale, slot_D=slot)
        x_ND = x_BSD.flatten(0, 1)
        for layer in self.encoder:
            assert isinstance(layer, EncoderLayer)
            x_ND = self._feed_forward(layer, self._self_attention(layer, x_ND, lengths_B))
        return x_ND.view(x_BSD.shape)

    def first_scores(self, stream_BSD: Tensor, weight_CD: Tensor, bias_C: Tensor) -> Tensor:
        """Products [B, C], float32, of some vectors with the encoder's output at each sentence's first position."""
        assert isinstance(self.encoder_norm, nn.LayerNorm)
        return self.ops.scores(stream_BSD[:, 0], self.encoder_norm, weight_CD, bias_C)

    def memory(self, encoded: Tensor) -> list[Memory]:
        """As in `Transformer`."""
        return self._memory(encoded, None)

    def memory_of_stream(self, stream_BSD: Tensor) -> list[Memory]:
        """As `memory`, of what `source_stream` returns."""
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
        """What `decode` returns without a causal mask, [R, T, D], before its last layer norm.

        With `places_RP`, P rows of the batch for each draft, it is [R, P, D]: what only other rows need is left out.
        """
        target = self.target
        x_RTD = self.ops.embed(ids_RT, target.tokens.weight, target.positions.weight, target.scale)
        x_ND = x_RTD.flatten(0, 1)
        for layer, own_memory in zip(self.decoder, memory, strict=True):
            assert isinstance(layer, DecoderLayer)
            # Every row is attended to up to the last layer.
            wanted_RP = places_RP if layer is self.decoder[-1] else None
            x_ND = self._self_attention(layer, x_ND, lengths_R, wanted_RP)
            x_ND = self._cross_attention(layer, x_ND, len(ids_RT), own_memory, source_lengths_B)
            x_ND = self._feed_forward(layer, x_ND)
        return x_ND.view(len(ids_RT), -1, x_RTD.shape[2])

    def best_of_stream(self, stream_RTD: Tensor, penalty_V: Tensor) -> BlockBests:
        """The likeliest tokens at every position of what `target_stream` returns; `penalty_V` as in `fused_ops`."""
        assert isinstance(self.decoder_norm, nn.LayerNorm)
        return self.ops.block_bests(stream_RTD.flatten(0, 1), self.decoder_norm, self.output.weight, penalty_V)

    def decode_step(
        self, ids_BK: Tensor, time: int, past: list[Past], seen_BKS: Tensor, memory: list[Memory], source: Padded
    ) -> Tensor:
        """As in `Transformer`."""
        target = self.target
        ids_N1 = ids_BK.flatten()[:, None]
        x_ND = self.ops.embed(ids_N1, target.tokens.weight, target.positions.weight, target.scale, time)[:, 0]
        for layer, own_past, own_memory in zip(self.decoder, past, memory, strict=True):
            assert isinstance(layer, DecoderLayer)
            x_ND = self._step(layer, x_ND, own_past, time, seen_BKS)
            x_ND = self._cross_attention(layer, x_ND, len(ids_BK), own_memory, source.lengths_B)
            x_ND = self._feed_forward(layer, x_ND)
        hidden_ND: Tensor = self.decoder_norm(x_ND)
        return hidden_ND.view(*ids_BK.shape, -1)

    def _self_attention(
        self, layer: EncoderLayer | DecoderLayer, x_ND: Tensor, lengths_R: Tensor, places_RP: Tensor | None = None
    ) -> Tensor:
        own = layer.attention
        qkv = self._linear(x_ND, own.qkv, norm=layer.attention_residual.norm)
        q, k, v = qkv.view(len(lengths_R), -1, 3, own.heads, qkv.shape[1] // (3 * own.heads)).unbind(2)
        seen_ND = self.ops.attend(q, k, v, lengths_R).flatten(0, 1).flatten(1)
        return self._linear(seen_ND, own.out, residual_NM=x_ND, places_RP=places_RP)

    def _step(self, layer: DecoderLayer, x_ND: Tensor, past: Past, time: int, seen_BKS: Tensor) -> Tensor:
        """One position of each beam; `past` and `seen_BKS` as in `DecoderLayer.step`."""
        beams, keys = seen_BKS.shape[1:]
        own, norm = layer.attention, layer.attention_residual.norm
        q_ND = self.ops.linear_into(x_ND, own.qkv, norm, past.keys[:, time], past.values[:, time])
        q = q_ND.view(len(seen_BKS), beams, own.heads, -1)
        k, v = (x[:, : keys // beams].flatten(1, 2) for x in (past.keys, past.values))
        seen_ND = self.ops.attend_seen(q, k, v, seen_BKS).flatten(0, 1).flatten(1)
        return self._linear(seen_ND, own.out, residual_NM=x_ND)

    def _cross_attention(
        self, layer: DecoderLayer, x_ND: Tensor, rows: int, memory: Memory, source_lengths_B: Tensor
    ) -> Tensor:
        own, norm = layer.cross, layer.cross_residual.norm
        seen_ND = self.ops.cross_attend(x_ND, norm, own.q, memory.keys, memory.values, source_lengths_B, rows)
        return self._linear(seen_ND, own.out, residual_NM=x_ND)

    def _feed_forward(self, layer: EncoderLayer | DecoderLayer, x_ND: Tensor) -> Tensor:
        own, norm = layer.feed_forward, layer.feed_forward_residual.norm
        inner = self._linear(x_ND, own.inner, norm=norm, activation=self.config.activation)
        return self._linear(inner, own.outer, residual_NM=x_ND)

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
        made = []
        for layer in self.decoder:
            own = layer.cross
            assert isinstance(own, CrossAttention)
            kv = self._linear(x_BSD.flatten(0, 1), own.kv, norm=norm)
            k, v = kv.view(*x_BSD.shape[:2], 2, own.heads, x_BSD.shape[2] // own.heads).unbind(2)
            made.append(Memory(k, v))
        return made


def no_penalty_but(impossible: tuple[int, ...], vocabulary: int, device: torch.device) -> Tensor:
    """A penalty [V], as in `fused_ops`, that makes some tokens impossible."""
    penalty_V = torch.zeros(vocabulary, dtype=torch.float32, device=device)
    return penalty_V.index_fill_(0, torch.tensor(impossible, dtype=torch.long, device=device), float("-inf"))
