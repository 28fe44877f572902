"""The transformer in int8 on a CPU, without padding and with little overhead per operation.

The tokens of a batch are concatenated without padding. Int8 linear layers compute every token independently (see
`linear.py`), and attention runs sentence by sentence, so a sentence's result does not depend on the batch. The last
layer computes only the wanted positions. For one sentence the overhead of each call counts, so functions are called on
the modules' weights, not the modules.

Shape letters: B rows, S source positions, T target positions, N tokens of the batch end to end, M wanted positions,
D width, H heads, K head size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskpredict.engines.int8.linear import Int8Linear
from maskpredict.model.layout import Layout, Padded
from maskpredict.model.transformer import DecoderLayer, EncoderLayer, KVCache, Memory, Residual, Transformer


class Int8Transformer(Transformer):
    """A transformer's modules with the linear layers of `linear.py`."""

    sentence_by_sentence: ClassVar[bool] = True

    def __init__(self, plain: Transformer) -> None:
        nn.Module.__init__(self)
        self.config = plain.config
        for name, part in plain.named_children():
            self.add_module(name, part)
        self.encoder_steps = [(_SelfAttention(layer), _FeedForward(layer)) for layer in _layers(self.encoder)]
        self.decoder_steps = [
            (_SelfAttention(layer), _CrossAttention(layer), _FeedForward(layer)) for layer in _layers(self.decoder)
        ]

    def encode(self, ids: Tensor, layout: Layout, *, slot: Tensor | None = None) -> Tensor:
        """As in `Transformer`."""
        if not isinstance(layout, Padded):
            return super().encode(ids, layout, slot=slot)
        valid_BS, lengths = layout.valid_BT, layout.lengths_B.tolist()
        x_ND = self.source(ids[valid_BS], layout.positions[valid_BS], slot=slot)
        for attention, feed_forward in self.encoder_steps:
            x_ND = feed_forward(attention(x_ND, lengths))
        return _padded(self.encoder_norm(x_ND), valid_BS)

    def logits(self, hidden_RD: Tensor) -> Tensor:
        """As in `Transformer`."""
        logits_RV: Tensor = self.output(hidden_RD)
        return logits_RV

    def decode_states(self, x: Tensor, layout: Layout, memory: list[Memory], source: Layout, *, causal: bool) -> Tensor:
        """As in `Transformer`."""
        if causal or not (isinstance(layout, Padded) and isinstance(source, Padded)):
            return super().decode_states(x, layout, memory, source, causal=causal)
        lengths, sources = layout.lengths_B.tolist(), source.lengths_B.tolist()
        x_ND = x[layout.valid_BT]
        for (attention, cross, feed_forward), layer in zip(self.decoder_steps, memory, strict=True):
            row_memory = [_by_head(layer.keys[row, :end], layer.values[row, :end]) for row, end in enumerate(sources)]
            x_ND = feed_forward(cross(attention(x_ND, lengths), lengths, row_memory))
        return _padded(self.decoder_norm(x_ND), layout.valid_BT)

    def memory_for_steps(self, encoded: Tensor) -> list[Memory]:
        """As in `Transformer`, but keys [B, H, K, S] and values [B, H, S, K], ready for matrix products."""
        return [
            Memory(layer.keys.permute(0, 2, 3, 1).contiguous(), layer.values.transpose(1, 2).contiguous())
            for layer in self.memory(encoded)
        ]

    def new_caches(self, rows: int, beams: int, positions: int) -> list[KVCache]:
        """As in `Transformer`."""
        heads, size = self.config.heads, self.config.width // self.config.heads
        return [
            _CacheByHead(
                torch.zeros(rows, heads, size, positions, beams), torch.zeros(rows, heads, positions, beams, size)
            )
            for _ in self.decoder
        ]

    def decode_step(
        self, ids_BK: Tensor, time: int, caches: list[KVCache], seen_BKS: Tensor, memory: list[Memory], source: Padded
    ) -> Tensor:
        """As in `Transformer`."""
        x_ND = self.target(ids_BK, torch.full_like(ids_BK, time)).flatten(0, 1)
        for (attention, cross, feed_forward), layer_cache, layer_memory in zip(
            self.decoder_steps, caches, memory, strict=True
        ):
            x_ND = attention.step(x_ND, layer_cache, time, seen_BKS)
            x_ND = feed_forward(cross.step(x_ND, layer_memory, source.valid_BT[:, None]))
        hidden_ND: Tensor = self.decoder_norm(x_ND)
        return hidden_ND.view(*ids_BK.shape, -1)


class _CacheByHead(KVCache):
    """Keys [B, H, K, T, beams] and values [B, H, T, beams, K], ready for matrix products."""

    def write(self, time: int, keys: Tensor, values: Tensor) -> None:
        """As in `KVCache`."""
        self.keys[:, :, :, time], self.values[:, :, time] = keys.permute(0, 2, 3, 1), values.transpose(1, 2)

    def grow(self, positions: int) -> None:
        """As in `KVCache`."""
        self.keys = F.pad(self.keys, (0, 0, 0, positions))
        self.values = F.pad(self.values, (0, 0, 0, 0, 0, positions))


class Int8HiddenStates:
    """The decoder over a group of drafts; `owner` is the row of each draft's source."""

    def __init__(
        self, transformer: Int8Transformer, memory: list[Memory], source: Padded, owner: Sequence[int], layout: Padded
    ) -> None:
        self.transformer, self.layout = transformer, layout
        self.lengths: list[int] = layout.lengths_B.tolist()
        sources: list[int] = source.lengths_B.tolist()
        self.memory = [
            [_by_head(layer.keys[row, : sources[row]], layer.values[row, : sources[row]]) for row in owner]
            for layer in memory
        ]
        self._select(list(range(len(owner))))

    def __call__(self, ids_BT: Tensor, wanted_BT: Tensor) -> Tensor:
        """Return the decoder's output [M, D] at the wanted positions; rows without any are not computed."""
        counts: list[int] = wanted_BT.sum(1).tolist()
        rows = [row for row, count in enumerate(counts) if count]
        if rows != self.rows:
            self._select(rows)
        transformer, lengths = self.transformer, [self.lengths[row] for row in rows]
        x = F.embedding(ids_BT.take(self.places_N), transformer.target.tokens.weight)
        x = torch.add(self.positions_ND, x, alpha=transformer.target.scale)
        last = len(self.memory) - 1
        for depth, (attention, cross, feed_forward) in enumerate(transformer.decoder_steps):
            x = attention(x, lengths)
            if depth == last:
                x, lengths = x[wanted_BT.take(self.places_N)], [counts[row] for row in rows]
            x = feed_forward(cross(x, lengths, [self.memory[depth][row] for row in rows]))
        hidden_MD: Tensor = transformer.decoder_norm(x)
        return hidden_MD

    def _select(self, rows: list[int]) -> None:
        """Compute only these rows from now on."""
        self.rows = rows
        active_BT = torch.zeros_like(self.layout.valid_BT)
        active_BT[rows] = self.layout.valid_BT[rows]
        self.places_N = active_BT.flatten().nonzero()[:, 0]
        self.positions_ND = self.transformer.target.positions(self.places_N % active_BT.shape[1])


class _Sublayer:
    """Layer norm and residual sum around a sublayer."""

    def __init__(self, residual: Residual) -> None:
        norm = residual.norm
        self.pre, self.shape, self.epsilon = residual.pre, norm.normalized_shape, norm.eps
        self.weight, self.bias = norm.weight, norm.bias

    def before(self, x: Tensor) -> Tensor:
        """Return the sublayer's input, which it may overwrite."""
        return torch.layer_norm(x, self.shape, self.weight, self.bias, self.epsilon) if self.pre else x.clone()

    def after(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the residual sum; the sublayer's output y is overwritten."""
        y.add_(x)
        return y if self.pre else torch.layer_norm(y, self.shape, self.weight, self.bias, self.epsilon)


class _SelfAttention(_Sublayer):
    def __init__(self, layer: EncoderLayer | DecoderLayer) -> None:
        super().__init__(layer.attention_residual)
        self.heads = layer.attention.heads
        self.qkv, self.out = _product(layer.attention.qkv), _product(layer.attention.out)

    def __call__(self, x_ND: Tensor, lengths: Sequence[int]) -> Tensor:
        qkv = self.qkv(self.before(x_ND)).view(len(x_ND), 3, self.heads, -1)
        memory = [_by_head(sentence[:, 1], sentence[:, 2]) for sentence in _sentences(qkv, lengths)]
        return self.after(x_ND, self.out(_attend(qkv[:, 0], lengths, memory)))

    def step(self, x_ND: Tensor, cache: KVCache, time: int, seen_BKS: Tensor) -> Tensor:
        """Run one position of each beam; `cache` and `seen_BKS` as in `DecoderLayer.step`."""
        sentences, beams, keys = seen_BKS.shape
        q, k, v = self.qkv(self.before(x_ND)).view(sentences, beams, 3, self.heads, -1).unbind(2)
        cache.write(time, k, v)
        earlier = Memory(cache.keys.flatten(3)[..., :keys], cache.values.flatten(2, 3)[:, :, :keys])
        return self.after(x_ND, self.out(_attend_seen(q, earlier, seen_BKS)))


class _CrossAttention(_Sublayer):
    def __init__(self, layer: DecoderLayer) -> None:
        super().__init__(layer.cross_residual)
        self.heads = layer.cross.heads
        self.q, self.out = _product(layer.cross.q), _product(layer.cross.out)

    def __call__(self, x_ND: Tensor, lengths: Sequence[int], memory: Sequence[Memory]) -> Tensor:
        q_NHK = self.q(self.before(x_ND)).view(len(x_ND), self.heads, -1)
        return self.after(x_ND, self.out(_attend(q_NHK, lengths, memory)))

    def step(self, x_ND: Tensor, memory: Memory, seen_B1S: Tensor) -> Tensor:
        """Run one position of each beam."""
        q_BKHK = self.q(self.before(x_ND)).view(len(seen_B1S), -1, *memory.keys.shape[1:3])
        return self.after(x_ND, self.out(_attend_seen(q_BKHK, memory, seen_B1S)))


class _FeedForward(_Sublayer):
    def __init__(self, layer: EncoderLayer | DecoderLayer) -> None:
        super().__init__(layer.feed_forward_residual)
        self.inner, self.outer = _product(layer.feed_forward.inner), _product(layer.feed_forward.outer)
        self.activation = layer.feed_forward.activation

    def __call__(self, x_ND: Tensor) -> Tensor:
        return self.after(x_ND, self.outer(self.activation(self.inner(self.before(x_ND)))))


def _by_head(keys_SHK: Tensor, values_SHK: Tensor) -> Memory:
    """Return keys [H, K, S] and values [H, S, K] of one sentence."""
    return Memory(keys_SHK.permute(1, 2, 0), values_SHK.transpose(0, 1))


def _attend(q_NHK: Tensor, lengths: Sequence[int], memory: Sequence[Memory]) -> Tensor:
    """Return attention of each sentence's queries to its keys, [N, D].

    For the few positions of a sentence, separate products and softmax are faster than PyTorch's attention, whose result
    also depends on the number of threads.
    """
    scale = q_NHK.shape[-1] ** -0.5
    heads = []
    for q_THK, sentence in zip(_sentences(q_NHK, lengths), memory, strict=True):
        weights_HTS = torch.bmm(q_THK.transpose(0, 1), sentence.keys).mul_(scale).softmax(-1)
        heads.append(torch.bmm(weights_HTS, sentence.values).transpose(0, 1))
    return torch.cat(heads).flatten(1)


def _attend_seen(q: Tensor, memory: Memory, seen: Tensor) -> Tensor:
    """Return attention of each sentence's beams to the keys where `seen`, [N, D]; q is [B, beams, H, K]."""
    weights = torch.matmul(q.transpose(1, 2), memory.keys).mul_(q.shape[-1] ** -0.5)
    weights = weights.masked_fill_(~seen[:, None], float("-inf")).softmax(-1)
    return torch.matmul(weights, memory.values).transpose(1, 2).flatten(0, 1).flatten(1)


def _padded(x_ND: Tensor, valid_BT: Tensor) -> Tensor:
    """Return concatenated sentences as padded rows [B, T, D]."""
    x_BTD = x_ND.new_zeros(*valid_BT.shape, x_ND.shape[1])
    x_BTD[valid_BT] = x_ND
    return x_BTD


def _sentences(x: Tensor, lengths: Sequence[int]) -> Sequence[Tensor]:
    return x.split(lengths) if len(lengths) > 1 else (x,)


def _product(linear: nn.Module) -> Callable[[Tensor], Tensor]:
    assert isinstance(linear, Int8Linear)
    return linear.consume


def _layers(layers: nn.ModuleList) -> list[DecoderLayer]:
    # ModuleList is not generic; encoder layers have all attributes that are used here.
    return list(layers)  # type: ignore[arg-type]
