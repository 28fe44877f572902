"""ONNX graphs built node by node, with external weights, so that no weight is copied into the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, StringStringEntryProto, TensorProto, ValueInfoProto, helper, numpy_helper

OPSET, IR_VERSION = 20, 10
MICROSOFT = "com.microsoft"
"""Domain of onnxruntime's contributed operators."""

Arrays = dict[str, npt.NDArray[Any]]


class Graph:
    """An ONNX graph under construction. Its methods take and return names of values."""

    def __init__(self) -> None:
        self.weights: Arrays = {}
        """Initializers by name; a session takes them separately from the model."""
        self._constants: list[TensorProto] = []
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[str] = []

    def input(
        self, name: str, shape: list[str | int], kind: type = np.float32, default: npt.NDArray[Any] | None = None
    ) -> str:
        """Declare an input; one with a default may be left out of a run."""
        self._inputs.append(helper.make_tensor_value_info(name, _onnx_type(np.dtype(kind)), shape))
        if default is not None:
            self._constants.append(numpy_helper.from_array(default, name))
        return name

    def weight(self, name: str, values: npt.NDArray[Any]) -> str:
        """Add an initializer, unless that name exists."""
        if name not in self.weights:
            self.weights[name] = np.ascontiguousarray(values)
        return name

    def integers(self, *values: int) -> str:
        """Add a list of integers, such as a shape."""
        return self.constant(np.array(values))

    def constant(self, value: npt.ArrayLike) -> str:
        """Add a small constant of NumPy's type for the value."""
        name = f"constant{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, operator: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any) -> str:
        """Add an operator with one output; `output` makes it an output of the graph under that name."""
        return self.nodes(operator, *inputs, outputs=[output], domain=domain, **attributes)[0]

    def nodes(
        self, operator: str, *inputs: str, outputs: Sequence[str], domain: str = "", **attributes: Any
    ) -> list[str]:
        """Add an operator with several outputs; non-empty names make them outputs of the graph."""
        self._outputs += filter(None, outputs)
        names = [name or f"{operator}{len(self._nodes)}.{place}" for place, name in enumerate(outputs)]
        self._nodes.append(helper.make_node(operator, inputs, names, domain=domain, **attributes))
        return names

    def model(self) -> ModelProto:
        """Return the finished model, in which weights are declared as external data."""
        outputs = [ValueInfoProto(name=name) for name in self._outputs]
        declared = [_declaration(name, values) for name, values in self.weights.items()]
        graph = helper.make_graph(self._nodes, "maskpredict", self._inputs, outputs, [*self._constants, *declared])
        operators = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=operators, ir_version=IR_VERSION)


def _declaration(name: str, values: npt.NDArray[Any]) -> TensorProto:
    declaration = TensorProto(name=name, data_type=_onnx_type(values.dtype), dims=values.shape)
    declaration.data_location = TensorProto.EXTERNAL
    declaration.external_data.append(StringStringEntryProto(key="location", value="given to the session"))
    return declaration


def _onnx_type(kind: np.dtype[Any]) -> int:
    return helper.np_dtype_to_tensor_dtype(kind)
