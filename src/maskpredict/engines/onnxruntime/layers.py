"""The transformer's layers as ONNX nodes, from the weights of a model folder; `model/transformer.py` in PyTorch.

In int8, a weight matrix has one scale per row, and the input of a product has one scale for all its rows. So sentences
are not computed together: their results would depend on each other.

Shape letters: N positions, D width, H heads, K head size, V vocabulary or candidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from maskpredict.cpu import int8_sums_saturate
from maskpredict.engines.onnxruntime.graph import MICROSOFT, Graph
from maskpredict.model.config import ModelConfig
from maskpredict.model.int8_matrix import Int8Matrix
from maskpredict.model.stored_weights import Weights, int8_matrix, stored_int8


class Layers:
    """Adds layers to a graph."""

    def __init__(self, graph: Graph, config: ModelConfig, weights: Weights, *, int8: bool) -> None:
        self.graph, self.config, self.weights, self.int8 = graph, config, weights, int8

    def embedded(self, ids: str, side: str) -> str:
        """Return vectors [N, D] of ids [N] at the first N positions; `side` is source or target."""
        graph, words = self.graph, self._rows(self._tokens(side), ids)
        if self.config.scale_embeddings:
            words = graph.node("Mul", words, graph.constant(np.float32(self.config.width**0.5)))
        positions = self._float32(f"transformer.{side}.positions.weight")
        first = graph.node("Slice", positions, graph.integers(0), graph.node("Shape", ids))
        return graph.node("Add", words, first)

    def words(self, ids: str) -> str:
        """Return vectors [N, D] of target ids [N] to be added to hidden states; as `Embedding.words`."""
        scale = self.graph.constant(np.float32(self.config.width**0.5))
        return self.graph.node("Mul", self._rows(self._tokens("target"), ids), scale)

    def linear(self, x: str, name: str, *, bias: str = "", output: str = "") -> str:
        """Return the product of x with a linear layer's weights, plus the layer's bias or the given one."""
        return self._product(x, f"{name}.weight", bias or self._bias(f"{name}.bias"), output)

    def logits(self, x: str, penalties: str, candidates: str = "") -> str:
        """Return x [N, D] times the output matrix, or its rows of these candidates [V] alone, plus penalties [V]."""
        name = "transformer.output.weight"
        name = name if name in self.weights else self._tokens("target")
        if candidates:
            return self._product_with_rows(x, name, candidates, penalties)
        return self._product(x, name, penalties, "")

    def attended(self, q: str, k: str, v: str, name: str) -> str:
        """Return multi-head attention and its output projection."""
        heads = self.graph.node("MultiHeadAttention", q, k, v, domain=MICROSOFT, num_heads=self.config.heads)
        return self.linear(heads, f"{name}.out")

    def split(self, x: str, parts: int) -> list[str]:
        """Split the last axis into equal parts."""
        return self.graph.nodes("Split", x, outputs=[""] * parts, axis=-1, num_outputs=parts)

    def normed(self, x: str, name: str, output: str = "") -> str:
        """Return x after a layer norm, or x itself if the model has none of that name."""
        if f"{name}.weight" not in self.weights:
            return self.graph.node("Identity", x, output=output)
        scale, bias = self._float32(f"{name}.weight"), self._float32(f"{name}.bias")
        return self.graph.node(
            "LayerNormalization", x, scale, bias, output=output, axis=-1, epsilon=self.config.norm_epsilon
        )

    def feed_forward(self, x: str, name: str) -> str:
        """Return the output of a feed-forward sublayer."""
        inner = self.linear(x, f"{name}.inner")
        gelu = self.config.activation == "gelu"
        active = self.graph.node("Gelu", inner, domain=MICROSOFT) if gelu else self.graph.node("Relu", inner)
        return self.linear(active, f"{name}.outer")

    def stacked_heads(self, x: str, output: str = "") -> str:
        """Return x [1, N, D] as [1, H, N, K], the layout of keys and values."""
        heads = self.graph.node("Reshape", x, self.graph.integers(0, 0, self.config.heads, -1))
        return self.graph.node("Transpose", heads, output=output, perm=[0, 2, 1, 3])

    def _tokens(self, side: str) -> str:
        """Return the name of a side's embedding table; a tied one is stored under its first name only."""
        name = f"transformer.{side}.tokens.weight"
        return name if name in self.weights else "transformer.source.tokens.weight"

    def _rows(self, name: str, ids: str) -> str:
        """Return rows of a matrix in float32. A matrix stored in int8 stays in int8, which saves memory."""
        matrix = stored_int8(self.weights, name)
        if matrix is None:
            return self.graph.node("Gather", self._float32(name), ids)
        numbers = self.graph.node("Gather", self.graph.weight(f"{name}.rows", matrix.numbers), ids)
        scales = self.graph.node("Gather", self.graph.weight(f"{name}.row_scales", matrix.scales[:, None]), ids)
        return self.graph.node("Mul", self.graph.node("Cast", numbers, to=1), scales)

    def _product(self, x: str, name: str, bias: str, output: str) -> str:
        if not self.int8:
            weight = self.graph.weight(f"{name}.transposed", self.weights[name].T)
            if not bias:
                return self.graph.node("MatMul", x, weight, output=output)
            return self.graph.node("Add", self.graph.node("MatMul", x, weight), bias, output=output)
        operands = [x, *(self.graph.weight(f"{name}.{part}", values) for part, values in self._quantized(name))]
        return self.graph.node("DynamicQuantizeMatMul", *operands, bias, output=output, domain=MICROSOFT)

    def _product_with_rows(self, x: str, name: str, rows: str, bias: str) -> str:
        """Return x times these rows of a matrix, plus a bias. Whole rows are copied first, then turned: several times
        faster than copying columns of the turned matrix."""
        graph = self.graph
        if not self.int8:
            chosen = graph.node("Transpose", graph.node("Gather", self._float32(name), rows), perm=[1, 0])
            return graph.node("Add", graph.node("MatMul", x, chosen), bias)
        matrix = self._product_matrix(name)
        numbers = graph.node("Gather", graph.weight(f"{name}.product_rows", matrix.numbers), rows)
        scales = graph.node("Gather", graph.weight(f"{name}.product_scales", matrix.scales), rows)
        turned = graph.node("Transpose", numbers, perm=[1, 0])
        return graph.node("DynamicQuantizeMatMul", x, turned, scales, "", bias, domain=MICROSOFT)

    def _product_matrix(self, name: str) -> Int8Matrix:
        matrix = int8_matrix(self.weights, name)
        # onnxruntime quantizes inputs to eight bits on any CPU, so only fewer bits of the weights avoid saturation.
        return matrix.in_seven_bits() if int8_sums_saturate() else matrix

    def _quantized(self, name: str) -> list[tuple[str, npt.NDArray[Any]]]:
        matrix = self._product_matrix(name)
        zeros = np.zeros(len(matrix.scales), np.int8)
        return [("numbers", matrix.numbers.T), ("scales", matrix.scales), ("zeros", zeros)]

    def _bias(self, name: str) -> str:
        return self._float32(name) if name in self.weights else ""

    def _float32(self, name: str) -> str:
        return name if name in self.graph.weights else self.graph.weight(name, self.weights[name])


class Stream:
    """The residual stream [1, N, D] through the sublayers of an encoder or decoder."""

    def __init__(self, layers: Layers, x: str) -> None:
        self.layers, self.x = layers, x
        self.pre_norm = layers.config.norm == "pre"

    def before(self, residual: str) -> str:
        """Return the input of a sublayer."""
        return self.layers.normed(self.x, f"{residual}.norm") if self.pre_norm else self.x

    def after(self, residual: str, y: str) -> None:
        """Add the output of a sublayer."""
        self.x = self.layers.graph.node("Add", self.x, y)
        if not self.pre_norm:
            self.x = self.layers.normed(self.x, f"{residual}.norm")
