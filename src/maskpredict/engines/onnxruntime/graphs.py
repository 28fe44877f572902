"""The graphs that onnxruntime runs, each over one sentence.

    source      ids [S] -> encoded [1, S, D]; keys0, values0, keys1, ... of the decoder's layers, each [1, H, S, K];
                of a CMLM also length_log_probs [1, L]; of CTC and alignment models also states [1, T, D]
    decoder     ids [T] (of a CTC model states [1, T, D], of an alignment model both), wanted [M], given [M, G],
                penalties [V], keys0, values0, ...
                -> token, log_prob [M, 1] of the likeliest token, given_log_prob [M, G], log_probs [M, V]
                With a shortlist, also candidates [V]: then V are these target subwords only, and given tokens and
                the likeliest one are places among them.

Shape letters: S source positions, L lengths, T target positions, M wanted positions, G given tokens of each, D width,
H heads, K head size, V vocabulary or candidates.
"""

from __future__ import annotations

import numpy as np

from maskpredict.engines.onnxruntime.graph import Graph
from maskpredict.engines.onnxruntime.layers import Layers, Stream
from maskpredict.model.config import ModelConfig
from maskpredict.model.stored_weights import Weights

END = np.iinfo(np.int64).max
"""End of a slice up to the end of an axis."""
LENGTH_TABLE, STRETCH = "length.table.weight", "split"
"""Weights of a CMLM's length head, and of the layer that turns each encoder state into several, for alignments."""


def source_graph(config: ModelConfig, weights: Weights, *, slot: bool, int8: bool) -> Graph:
    """Return the encoder, with the decoder's cross-attention keys and values.

    With `slot`, the LENGTH vector stands in front of the source, without a position embedding. The length head reads
    its output, and the decoder does not see it.
    """
    graph = Graph()
    layers = Layers(graph, config, weights, int8=int8)
    words = layers.embedded(graph.input("ids", ["S"], np.int64), "source")
    if slot:
        table = graph.weight(LENGTH_TABLE, weights[LENGTH_TABLE])
        length = graph.node("Slice", table, graph.integers(0), graph.integers(1))
        words = graph.node("Concat", length, words, axis=0)
    stream = Stream(layers, graph.node("Unsqueeze", words, graph.integers(0)))
    for depth in range(config.encoder_layers):
        name = f"transformer.encoder.{depth}"
        q, k, v = layers.split(layers.linear(stream.before(f"{name}.attention_residual"), f"{name}.attention.qkv"), 3)
        stream.after(f"{name}.attention_residual", layers.attended(q, k, v, f"{name}.attention"))
        residual = f"{name}.feed_forward_residual"
        stream.after(residual, layers.feed_forward(stream.before(residual), f"{name}.feed_forward"))
    encoded = layers.normed(stream.x, "transformer.encoder_norm", output="encoded")
    if slot:
        _add_length_log_probs(graph, encoded)
        encoded = graph.node("Slice", encoded, graph.integers(1), graph.integers(END), graph.integers(1))
    if f"{STRETCH}.weight" in weights:
        stretched = layers.linear(encoded, STRETCH)
        graph.node("Reshape", stretched, graph.integers(1, -1, config.width), output="states")
    for depth in range(config.decoder_layers):
        keys_values = layers.split(layers.linear(encoded, f"transformer.decoder.{depth}.cross.kv"), 2)
        for name, part in zip(memory_names(depth), keys_values, strict=True):
            layers.stacked_heads(part, output=name)
    return graph


def _add_length_log_probs(graph: Graph, encoded: str) -> None:
    """Score every length against the encoder's output at LENGTH. Length 0 is impossible."""
    first = graph.node("Gather", encoded, graph.constant(0), axis=1)
    scores = graph.node("Gemm", first, LENGTH_TABLE, transB=1)
    possible = graph.node("Slice", scores, graph.integers(1), graph.integers(END), graph.integers(1))
    never = graph.constant(np.full((1, 1), -np.inf, np.float32))
    graph.node("Concat", never, graph.node("LogSoftmax", possible, axis=-1), output="length_log_probs", axis=1)


def decoder_graph(
    config: ModelConfig, weights: Weights, *, hidden: int | None = None, shortlist: bool = False, int8: bool
) -> Graph:
    """Return a decoder pass. From the last layer's queries on, only `wanted` positions are computed.

    With `hidden`, the id of hidden positions, the words at all others are added to the states.
    """
    graph = Graph()
    layers = Layers(graph, config, weights, int8=int8)
    wanted = graph.input("wanted", ["M"], np.int64)
    stream = Stream(layers, _decoder_input(layers, hidden))
    for depth in range(config.decoder_layers):
        name = f"transformer.decoder.{depth}"
        heads: list[str | int] = [1, config.heads, "S", config.width // config.heads]
        keys, values = (graph.input(part, heads) for part in memory_names(depth))
        q, k, v = layers.split(layers.linear(stream.before(f"{name}.attention_residual"), f"{name}.attention.qkv"), 3)
        if depth == config.decoder_layers - 1:
            q, stream.x = (graph.node("Gather", x, wanted, axis=1) for x in (q, stream.x))
        stream.after(f"{name}.attention_residual", layers.attended(q, k, v, f"{name}.attention"))
        q = layers.linear(stream.before(f"{name}.cross_residual"), f"{name}.cross.q")
        stream.after(f"{name}.cross_residual", layers.attended(q, keys, values, f"{name}.cross"))
        residual = f"{name}.feed_forward_residual"
        stream.after(residual, layers.feed_forward(stream.before(residual), f"{name}.feed_forward"))
    vectors = graph.node("Squeeze", layers.normed(stream.x, "transformer.decoder_norm"), graph.integers(0))
    candidates = graph.input("candidates", ["V"], np.int64) if shortlist else ""
    _add_predictions(graph, layers.logits(vectors, graph.input("penalties", ["V"]), candidates))
    return graph


def _decoder_input(layers: Layers, hidden: int | None) -> str:
    graph = layers.graph
    if f"{STRETCH}.weight" not in layers.weights:
        words = layers.embedded(graph.input("ids", ["T"], np.int64), "target")
        return graph.node("Unsqueeze", words, graph.integers(0))
    states = graph.input("states", [1, "T", layers.config.width])
    if hidden is None:
        return states
    ids = graph.input("ids", ["T"], np.int64)
    is_hidden = graph.node("Unsqueeze", graph.node("Equal", ids, graph.constant(hidden)), graph.integers(1))
    seen = graph.node("Where", is_hidden, graph.constant(np.float32(0)), layers.words(ids))
    return graph.node("Add", states, seen)


def _add_predictions(graph: Graph, logits: str) -> None:
    log_probs = graph.node("LogSoftmax", logits, output="log_probs", axis=-1)
    # TopK takes the lowest id of equally likely tokens.
    graph.nodes("TopK", log_probs, graph.integers(1), outputs=["log_prob", "token"], axis=-1)
    given = graph.input("given", ["M", "G"], np.int64, default=np.zeros((1, 1), np.int64))
    graph.node("GatherElements", log_probs, given, output="given_log_prob", axis=1)


def memory_names(depth: int) -> tuple[str, str]:
    """Return the names of the keys and values of a decoder layer."""
    return f"keys{depth}", f"values{depth}"
