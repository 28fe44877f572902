"""All passes of mask-predict over one draft, as one graph for onnxruntime: `decoding/mask_predict.py` once more, since
a pass takes so little time that Python between two of them counts.

    draft           [T], nothing but masks
    passes          [1]: how many to make
    limit           []: a log-probability from which on a token is not masked again, inf where there is none
    unless_stable   []: True to stop as soon as a pass changes no token
    penalties, keys0, values0, ...  as in a pass

    -> tokens [T], log_probs [T], used [1]: the passes that were made

Shape letters: T positions, M masked positions.
"""

from __future__ import annotations

import numpy as np

from maskpredict.model.onnxruntime_graph import Graph, Weights
from maskpredict.model.onnxruntime_graphs import pass_inputs, pass_over
from maskpredict.model.transformer import Transformer


def draft_graph(transformer: Transformer, weights: Weights) -> Graph:
    """A loop of passes, which begins with everything masked."""
    graph = Graph(weights)
    draft = graph.input("draft", ["T"], np.int64)
    passes = graph.input("passes", [1], np.int64)
    limit, unless_stable = graph.input("limit", []), graph.input("unless_stable", [], np.bool_)
    given = pass_inputs(graph, transformer)
    size = graph.node("Shape", draft)

    body = graph.body()
    t, _ = body.input("t", [], np.int64), body.input("going_on", [], np.bool_)
    tokens, log_probs = body.input("tokens_before", ["T"], np.int64), body.input("log_probs_before", ["T"])
    masked, _ = body.input("masked_before", ["M"], np.int64), body.input("used_before", [1], np.int64)
    seen = body.node("ScatterElements", tokens, masked, body.node("Gather", draft, masked))
    found = pass_over(body, transformer, seen, masked, given)
    new_tokens = _put(body, tokens, masked, found.token)
    new_log_probs = _put(body, log_probs, masked, found.log_prob)
    made = body.node("Add", t, body.integers(1))
    next_masked = _least_confident(body, new_log_probs, size, passes, made, limit)
    changed = body.node("NonZero", body.node("Sub", new_tokens, tokens))
    restless = body.node("Or", _some(body, changed), body.node("Not", unless_stable))
    go_on = body.node("And", restless, _some(body, next_masked))

    state = [
        draft,
        graph.node("Expand", graph.constant(np.float32(0)), size),
        graph.node("Range", graph.constant(0), graph.node("Squeeze", size), graph.constant(1)),
        graph.integers(0),
    ]
    ends = body.as_body([go_on, new_tokens, new_log_probs, next_masked, made])
    graph.nodes(
        "Loop", passes, graph.constant(True), *state, outputs=["tokens", "log_probs", "left", "used"], body=ends
    )
    return graph


def _least_confident(graph: Graph, log_probs: str, size: str, passes: str, made: str, limit: str) -> str:
    """The n = max(1, floor(N (T - t) / T)) positions with the lowest probability, the leftmost of equals; of these, the
    ones below the limit, from left to right."""
    left = graph.node("Sub", passes, made)
    share = graph.node("Div", graph.node("Mul", size, left), passes)
    count = graph.node("Max", share, graph.integers(1))
    lowest, places = graph.nodes("TopK", log_probs, count, outputs=["", ""], axis=-1, largest=0)
    nowhere = graph.node("Expand", graph.constant(False), size)
    chosen = graph.node("ScatterElements", nowhere, places, graph.node("Less", lowest, limit))
    return graph.node("Reshape", graph.node("NonZero", chosen), graph.integers(-1))


def _put(graph: Graph, into: str, places: str, found: str) -> str:
    """`into` [T] with what was found, [M, 1], in its places [M]."""
    return graph.node("ScatterElements", into, places, graph.node("Reshape", found, graph.integers(-1)))


def _some(graph: Graph, places: str) -> str:
    """True if there are any."""
    return graph.node("Greater", graph.node("Size", places), graph.constant(0))
