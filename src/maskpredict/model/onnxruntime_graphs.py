"""The transformer in eight bits once more, as three graphs for onnxruntime, each over one sentence.

    source      ids [S], slot [0 or 1, D], lengths [L, D] -> encoded [1, S, D], with the slot in front if there is one;
                length_log_probs [1, L] as in `length.py`, from the first position;
                keys0, values0, keys1, ... of the decoder's layers, each [1, H, S, K], without the slot
    decoder     ids [T], wanted [M], given [M, 1], penalties [V], keys0, values0, ...
                -> logits [M, V] with penalties, token [M, 1] and log_prob [M, 1] of the likeliest token,
                given_log_prob [M, 1] of the given one
    draft       draft [T], passes [1], limit [], unless_stable [], penalties [V], keys0, values0, ...
                -> tokens [T], log_probs [T], used [1]: all passes of mask-predict (`onnxruntime_draft_graph.py`)

Weights are those of `int8.py`, in seven bits where sums of products would overflow otherwise. The input of a product is
rounded to eight bits with one scale for the whole sentence, which is why sentences are not computed together: their
results would depend on each other.

Shape letters: S source positions, L lengths, T target positions, M wanted positions, D width, H heads, K head size,
V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import nn

from maskpredict.model.int8 import Int8Linear, sums_overflow
from maskpredict.model.onnxruntime_graph import MICROSOFT, Graph, Weights
from maskpredict.model.transformer import (
    CrossAttention,
    DecoderLayer,
    Embedding,
    EncoderLayer,
    Residual,
    SelfAttention,
    Transformer,
)

END = np.iinfo(np.int64).max
"""Where a slice ends that takes all there is."""


def source_graph(transformer: Transformer, weights: Weights) -> Graph:
    """The encoder, and what the decoder's layers need of its output. A slot has no position, and the word behind it the
    first; the decoder does not see it."""
    graph = Graph(weights)
    words = _embedded(graph, graph.input("ids", ["S"], np.int64), transformer.source)
    slot = graph.input("slot", ["P", transformer.config.width])
    stream = _Stream(graph, graph.node("Unsqueeze", graph.node("Concat", slot, words, axis=0), graph.integers(0)))
    for layer in _layers(transformer.encoder):
        q, k, v = _queries_keys_values(graph, stream.before(layer.attention_residual), layer.attention)
        stream.after(layer.attention_residual, _attended(graph, q, k, v, layer.attention))
        _feed_forward(graph, stream, layer)
    encoded = stream.normed(transformer.encoder_norm, output="encoded")
    _lengths(graph, encoded, graph.input("lengths", ["L", transformer.config.width]))
    slots = graph.node("Shape", slot, start=0, end=1)
    behind_slot = graph.node("Slice", encoded, slots, graph.integers(END), graph.integers(1))
    for depth, layer in enumerate(_layers(transformer.decoder)):
        both = _linear(graph, behind_slot, layer.cross.kv)
        for name, part in zip(memory_names(depth), _split(graph, both, 2), strict=True):
            heads = graph.node("Reshape", part, graph.integers(0, 0, layer.cross.heads, -1))
            graph.node("Transpose", heads, output=name, perm=[0, 2, 1, 3])
    return graph


def _lengths(graph: Graph, encoded: str, table: str) -> None:
    """How likely each length is, as a `LengthHead` finds it. Length 0 is not."""
    first = graph.node("Gather", encoded, graph.constant(0), axis=1)
    scores = graph.node("Gemm", first, table, transB=1)
    possible = graph.node("Slice", scores, graph.integers(1), graph.integers(END), graph.integers(1))
    never = graph.constant(np.full((1, 1), -np.inf, np.float32))
    graph.node("Concat", never, graph.node("LogSoftmax", possible, axis=-1), output="length_log_probs", axis=1)


def decoder_graph(transformer: Transformer, weights: Weights) -> Graph:
    """A pass of the decoder, and all that one may ask of it."""
    graph = Graph(weights)
    given = graph.input("given", ["M", 1], np.int64)
    ids, wanted = (graph.input(name, [size], np.int64) for name, size in (("ids", "T"), ("wanted", "M")))
    found = pass_over(graph, transformer, ids, wanted, pass_inputs(graph, transformer))
    graph.node("GatherElements", found.log_probs, given, output="given_log_prob", axis=1)
    return graph


@dataclass(frozen=True)
class PassInputs:
    """What all passes over a draft are given."""

    penalties: str
    memory: list[list[str]]
    """Keys and values of each layer."""


@dataclass(frozen=True)
class PassOutputs:
    """What comes out of a pass."""

    log_probs: str
    """Of all tokens, [M, V]."""
    token: str
    """The likeliest, [M, 1]."""
    log_prob: str
    """Its own, [M, 1]."""


def pass_inputs(graph: Graph, transformer: Transformer) -> PassInputs:
    """Inputs of a graph with passes in it."""
    config = transformer.config
    shape: list[str | int] = [1, config.heads, "S", config.width // config.heads]
    memory = [[graph.input(name, shape) for name in memory_names(depth)] for depth in range(config.decoder_layers)]
    return PassInputs(graph.input("penalties", ["V"]), memory)


def pass_over(graph: Graph, transformer: Transformer, ids: str, wanted: str, given: PassInputs) -> PassOutputs:
    """A pass of the decoder over `ids` [T]; past the last keys, `wanted` positions [M] alone."""
    words = _embedded(graph, ids, transformer.target)
    stream = _Stream(graph, graph.node("Unsqueeze", words, graph.integers(0)))
    layers = _layers(transformer.decoder)
    for layer, (keys, values) in zip(layers, given.memory, strict=True):
        q, k, v = _queries_keys_values(graph, stream.before(layer.attention_residual), layer.attention)
        if layer is layers[-1]:
            q, stream.x = (graph.node("Gather", x, wanted, axis=1) for x in (q, stream.x))
        stream.after(layer.attention_residual, _attended(graph, q, k, v, layer.attention))
        q = _linear(graph, stream.before(layer.cross_residual), layer.cross.q)
        stream.after(layer.cross_residual, _attended(graph, q, keys, values, layer.cross))
        _feed_forward(graph, stream, layer)
    hidden = graph.node("Squeeze", stream.normed(transformer.decoder_norm), graph.integers(0))
    logits = _linear(graph, hidden, transformer.output, given.penalties, output="logits")
    log_probs = graph.node("LogSoftmax", logits, axis=-1)
    # Of equally likely tokens, TopK takes the one with the lowest id.
    log_prob, token = graph.nodes("TopK", log_probs, graph.integers(1), outputs=["log_prob", "token"], axis=-1)
    return PassOutputs(log_probs, token, log_prob)


def memory_names(depth: int) -> tuple[str, str]:
    """What the keys and values of a decoder layer are called."""
    return f"keys{depth}", f"values{depth}"


class _Stream:
    """The residual stream."""

    def __init__(self, graph: Graph, x: str) -> None:
        self.graph, self.x = graph, x

    def before(self, residual: Residual) -> str:
        """What a sublayer takes."""
        return self.normed(residual.norm) if residual.pre else self.x

    def after(self, residual: Residual, y: str) -> None:
        """Add what a sublayer made of it."""
        self.x = self.graph.node("Add", self.x, y)
        if not residual.pre:
            self.x = self.normed(residual.norm)

    def normed(self, norm: nn.Module, output: str = "") -> str:
        """The stream after a layer norm."""
        if isinstance(norm, nn.Identity):  # of post-norm models: there the last sublayer ended with one
            return self.graph.node("Identity", self.x, output=output)
        assert isinstance(norm, nn.LayerNorm)
        own = self.graph.weights_of(norm, lambda: [values.numpy(force=True) for values in (norm.weight, norm.bias)])
        return self.graph.node("LayerNormalization", self.x, *own, output=output, axis=-1, epsilon=norm.eps)


def _embedded(graph: Graph, ids: str, embedding: Embedding) -> str:
    """Vectors [N, D] of ids [N] at the first N positions."""
    words = graph.node("Gather", _table(graph, embedding.tokens), ids)
    if embedding.scale != 1:
        words = graph.node("Mul", words, graph.constant(np.float32(embedding.scale)))
    first = graph.node("Slice", _table(graph, embedding.positions), graph.integers(0), graph.node("Shape", ids))
    return graph.node("Add", words, first)


def _table(graph: Graph, embedding: nn.Embedding) -> str:
    return graph.weights_of(embedding, lambda: [embedding.weight.numpy(force=True)])[0]


def _queries_keys_values(graph: Graph, x: str, attention: SelfAttention) -> list[str]:
    return _split(graph, _linear(graph, x, attention.qkv), 3)


def _attended(graph: Graph, q: str, k: str, v: str, attention: SelfAttention | CrossAttention) -> str:
    heads = graph.node("MultiHeadAttention", q, k, v, domain=MICROSOFT, num_heads=attention.heads)
    return _linear(graph, heads, attention.out)


def _feed_forward(graph: Graph, stream: _Stream, layer: EncoderLayer | DecoderLayer) -> None:
    own = layer.feed_forward
    inner = _linear(graph, stream.before(layer.feed_forward_residual), own.inner)
    gelu = own.activation is nn.functional.gelu
    active = graph.node("Gelu", inner, domain=MICROSOFT) if gelu else graph.node("Relu", inner)
    stream.after(layer.feed_forward_residual, _linear(graph, active, own.outer))


def _linear(graph: Graph, x: str, linear: nn.Module, bias: str = "", output: str = "") -> str:
    """A product with a layer's weights, plus its own bias or another one."""
    assert isinstance(linear, Int8Linear)

    def values() -> list[npt.NDArray[Any]]:
        # onnxruntime rounds inputs to eight bits on any CPU, so it is the weights that have to give way.
        matrix = linear.matrix.in_seven_bits() if sums_overflow() else linear.matrix
        zeros = np.zeros(len(matrix.scales), np.int8)
        own_bias = [] if linear.bias is None else [linear.bias.numpy(force=True)]
        return [matrix.numbers.numpy().T, matrix.scales.numpy(), zeros, *own_bias]

    operands = [x, *graph.weights_of(linear, values)]
    if linear.bias is None:
        operands.append(bias)
    return graph.node("DynamicQuantizeMatMul", *operands, output=output, domain=MICROSOFT)


def _split(graph: Graph, x: str, parts: int) -> list[str]:
    return graph.nodes("Split", x, outputs=[""] * parts, axis=-1, num_outputs=parts)


def _layers(layers: nn.ModuleList) -> list[DecoderLayer]:
    # Encoder layers have all that is asked of them here; ModuleList forgets which kind it holds.
    return list(layers)  # type: ignore[arg-type]
