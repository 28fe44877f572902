"""The transformer in eight bits once more, as three graphs for onnxruntime, each over one sentence.

    encoder     ids [S], slot [0 or 1, D] -> encoded [1, S, D], with the slot in front if there is one
    memory      encoded [1, S, D] -> keys0, values0, keys1, ... of the decoder's layers, each [1, H, S, K]
    decoder     ids [T], wanted [M], given [M, 1], penalties [V], keys0, values0, ...
                -> logits [M, V] with penalties, token [M, 1] and log_prob [M, 1] of the likeliest token,
                given_log_prob [M, 1] of the given one

Weights are those of `int8.py`. The input of a product is rounded to eight bits with one scale for the whole sentence,
which is why sentences are not computed together: their results would depend on each other.

Shape letters: S source positions, T target positions, M wanted positions, D width, H heads, K head size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from torch import nn

from maskpredict.model.int8 import Int8Linear
from maskpredict.model.transformer import (
    CrossAttention,
    DecoderLayer,
    Embedding,
    EncoderLayer,
    Residual,
    SelfAttention,
    Transformer,
)

if TYPE_CHECKING:
    from onnx import ModelProto

OPSET, IR_VERSION = 20, 10
MICROSOFT = "com.microsoft"
"""Where onnxruntime's own operators are: several of ONNX's in one."""


class Graph:
    """An ONNX graph that grows node by node. Weights stay outside it, so that several sessions can share them."""

    def __init__(self) -> None:
        self.weights: dict[str, npt.NDArray[Any]] = {}
        self._constants: list[Any] = []
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[str] = []

    def input(self, name: str, shape: list[str | int], kind: type = np.float32) -> str:
        """Something that each run is given."""
        from onnx import helper

        self._inputs.append(helper.make_tensor_value_info(name, _onnx_type(np.dtype(kind)), shape))
        return name

    def weight(self, values: npt.NDArray[Any]) -> str:
        """Something that is the same in all runs."""
        name = f"weight{len(self.weights)}"
        self.weights[name] = np.ascontiguousarray(values)
        return name

    def integers(self, *values: int) -> str:
        """A few numbers that say what to do, such as a shape."""
        from onnx import numpy_helper

        name = f"integers{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.array(values), name))
        return name

    def node(self, operator: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any) -> str:
        """The one output of an operator, under a name of its own if a run can be asked for it."""
        return self.nodes(operator, *inputs, outputs=[output], domain=domain, **attributes)[0]

    def nodes(
        self, operator: str, *inputs: str, outputs: Sequence[str], domain: str = "", **attributes: Any
    ) -> list[str]:
        """The outputs of an operator; those with a name of their own are outputs of the graph, too."""
        from onnx import helper

        self._outputs += filter(None, outputs)
        names = [name or f"{operator}{len(self._nodes)}.{place}" for place, name in enumerate(outputs)]
        self._nodes.append(helper.make_node(operator, inputs, names, domain=domain, **attributes))
        return names

    def model(self) -> ModelProto:
        """The graph, with a mere mention of each weight."""
        import onnx
        from onnx import helper

        mentions = [_mention(name, values) for name, values in self.weights.items()]
        outputs = [onnx.ValueInfoProto(name=name) for name in self._outputs]
        constants = [*self._constants, *mentions]
        graph = helper.make_graph(self._nodes, "maskpredict", self._inputs, outputs, constants)
        operators = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=operators, ir_version=IR_VERSION)


def encoder_graph(transformer: Transformer) -> Graph:
    """The encoder. A slot has no position, and the word behind it the first."""
    graph = Graph()
    words = _embedded(graph, graph.input("ids", ["S"], np.int64), transformer.source)
    slot = graph.input("slot", ["P", transformer.config.width])
    stream = _Stream(graph, graph.node("Unsqueeze", graph.node("Concat", slot, words, axis=0), graph.integers(0)))
    for layer in _layers(transformer.encoder):
        q, k, v = _queries_keys_values(graph, stream.before(layer.attention_residual), layer.attention)
        stream.after(layer.attention_residual, _attended(graph, q, k, v, layer.attention))
        _feed_forward(graph, stream, layer)
    stream.normed(transformer.encoder_norm, output="encoded")
    return graph


def memory_graph(transformer: Transformer) -> Graph:
    """What the decoder's layers need of an encoded source."""
    graph = Graph()
    encoded = graph.input("encoded", [1, "S", transformer.config.width])
    for depth, layer in enumerate(_layers(transformer.decoder)):
        both = _linear(graph, encoded, layer.cross.kv)
        for name, part in zip(memory_names(depth), _split(graph, both, 2), strict=True):
            heads = graph.node("Reshape", part, graph.integers(0, 0, layer.cross.heads, -1))
            graph.node("Transpose", heads, output=name, perm=[0, 2, 1, 3])
    return graph


def decoder_graph(transformer: Transformer) -> Graph:
    """A pass of the decoder; past the last keys, wanted positions alone."""
    graph, config = Graph(), transformer.config
    words = _embedded(graph, graph.input("ids", ["T"], np.int64), transformer.target)
    stream = _Stream(graph, graph.node("Unsqueeze", words, graph.integers(0)))
    wanted = graph.input("wanted", ["M"], np.int64)
    penalties = graph.input("penalties", ["V"])
    layers = _layers(transformer.decoder)
    for depth, layer in enumerate(layers):
        shape: list[str | int] = [1, config.heads, "S", config.width // config.heads]
        keys, values = (graph.input(name, shape) for name in memory_names(depth))
        q, k, v = _queries_keys_values(graph, stream.before(layer.attention_residual), layer.attention)
        if layer is layers[-1]:
            q, stream.x = (graph.node("Gather", x, wanted, axis=1) for x in (q, stream.x))
        stream.after(layer.attention_residual, _attended(graph, q, k, v, layer.attention))
        q = _linear(graph, stream.before(layer.cross_residual), layer.cross.q)
        stream.after(layer.cross_residual, _attended(graph, q, keys, values, layer.cross))
        _feed_forward(graph, stream, layer)
    hidden = graph.node("Squeeze", stream.normed(transformer.decoder_norm), graph.integers(0))
    logits = _linear(graph, hidden, transformer.output, penalties, output="logits")
    log_probs = graph.node("LogSoftmax", logits, axis=-1)
    # Of equally likely tokens, TopK takes the one with the lowest id.
    graph.nodes("TopK", log_probs, graph.integers(1), outputs=["log_prob", "token"], axis=-1)
    given = graph.input("given", ["M", 1], np.int64)
    graph.node("GatherElements", log_probs, given, output="given_log_prob", axis=1)
    return graph


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
        parameters = [self.graph.weight(values.numpy(force=True)) for values in (norm.weight, norm.bias)]
        return self.graph.node("LayerNormalization", self.x, *parameters, output=output, axis=-1, epsilon=norm.eps)


def _embedded(graph: Graph, ids: str, embedding: Embedding) -> str:
    """Vectors [N, D] of ids [N] at the first N positions."""
    tokens, positions = (
        graph.weight(table.weight.numpy(force=True)) for table in (embedding.tokens, embedding.positions)
    )
    words = graph.node("Gather", tokens, ids)
    if embedding.scale != 1:
        words = graph.node("Mul", words, graph.weight(np.array(embedding.scale, np.float32)))
    return graph.node("Add", words, graph.node("Slice", positions, graph.integers(0), graph.node("Shape", ids)))


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
    matrix = linear.matrix
    numbers, scales = matrix.numbers.numpy(), matrix.scales.numpy()
    zeros = np.zeros(len(scales), np.int8)
    if linear.bias is not None:
        bias = graph.weight(linear.bias.numpy(force=True))
    operands = [x, *(graph.weight(values) for values in (numbers.T, scales, zeros)), bias]
    return graph.node("DynamicQuantizeMatMul", *operands, output=output, domain=MICROSOFT)


def _split(graph: Graph, x: str, parts: int) -> list[str]:
    return graph.nodes("Split", x, outputs=[""] * parts, axis=-1, num_outputs=parts)


def _mention(name: str, values: npt.NDArray[Any]) -> Any:
    from onnx import StringStringEntryProto, TensorProto

    mention = TensorProto(name=name, data_type=_onnx_type(values.dtype), dims=values.shape)
    mention.data_location = TensorProto.EXTERNAL
    mention.external_data.append(StringStringEntryProto(key="location", value="outside"))
    return mention


def _onnx_type(kind: np.dtype[Any]) -> int:
    from onnx import helper

    return helper.np_dtype_to_tensor_dtype(kind)


def _layers(layers: nn.ModuleList) -> list[DecoderLayer]:
    # Encoder layers have all that is asked of them here; ModuleList forgets which kind it holds.
    return list(layers)  # type: ignore[arg-type]
