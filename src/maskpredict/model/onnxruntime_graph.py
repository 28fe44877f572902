"""ONNX graphs that grow node by node, and the weights that several of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from torch import nn

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto

OPSET, IR_VERSION = 20, 10
MICROSOFT = "com.microsoft"
"""Where onnxruntime's own operators are: several of ONNX's in one."""

Arrays = dict[str, npt.NDArray[Any]]


class Weights:
    """The weights of a model's layers, each in memory once, whichever graphs use it."""

    def __init__(self) -> None:
        self.arrays: Arrays = {}
        self._names: dict[nn.Module, list[str]] = {}

    def of(self, layer: nn.Module, values: Callable[[], list[npt.NDArray[Any]]]) -> list[str]:
        """What a layer's weights are called; `values` are looked at the first time."""
        if layer not in self._names:
            names = self._names[layer] = []
            for own in values():
                names.append(f"weight{len(self.arrays)}")
                self.arrays[names[-1]] = np.ascontiguousarray(own)
        return self._names[layer]


class Graph:
    """An ONNX graph that grows node by node. Weights stay outside it, so that several sessions can share them."""

    def __init__(self, weights: Weights, prefix: str = "") -> None:
        self._store, self._prefix = weights, prefix
        self._used: dict[str, None] = {}
        self._constants: list[Any] = []
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[str] = []

    @property
    def weights(self) -> Arrays:
        """Those that the graph uses."""
        return {name: self._store.arrays[name] for name in self._used}

    def body(self) -> Graph:
        """The inside of a loop in this graph: it sees all that is outside."""
        inside = Graph(self._store, f"{self._prefix}inside.")
        inside._used, inside._constants = self._used, self._constants
        return inside

    def input(self, name: str, shape: list[str | int], kind: type = np.float32) -> str:
        """Something that each run is given."""
        from onnx import helper

        self._inputs.append(helper.make_tensor_value_info(name, _onnx_type(np.dtype(kind)), shape))
        return name

    def weights_of(self, layer: nn.Module, values: Callable[[], list[npt.NDArray[Any]]]) -> list[str]:
        """Something that is the same in all runs, as in `Weights.of`."""
        names = self._store.of(layer, values)
        self._used.update(dict.fromkeys(names))
        return names

    def integers(self, *values: int) -> str:
        """A few numbers that say what to do, such as a shape."""
        return self.constant(np.array(values))

    def constant(self, value: npt.ArrayLike) -> str:
        """A number, or a few of them, of the type that numpy gives them."""
        from onnx import numpy_helper

        name = f"constant{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(value), name))
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
        names = [name or f"{self._prefix}{operator}{len(self._nodes)}.{place}" for place, name in enumerate(outputs)]
        self._nodes.append(helper.make_node(operator, inputs, names, domain=domain, **attributes))
        return names

    def as_body(self, outputs: Sequence[str]) -> GraphProto:
        """What the `body` of a Loop is: these are its outputs, in the order that the Loop wants."""
        from onnx import ValueInfoProto, helper

        return helper.make_graph(self._nodes, "body", self._inputs, [ValueInfoProto(name=name) for name in outputs])

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


def _mention(name: str, values: npt.NDArray[Any]) -> Any:
    from onnx import StringStringEntryProto, TensorProto

    mention = TensorProto(name=name, data_type=_onnx_type(values.dtype), dims=values.shape)
    mention.data_location = TensorProto.EXTERNAL
    mention.external_data.append(StringStringEntryProto(key="location", value="outside"))
    return mention


def _onnx_type(kind: np.dtype[Any]) -> int:
    from onnx import helper

    return helper.np_dtype_to_tensor_dtype(kind)
