"""Export of a model as two ONNX graphs, encoder and decoder, without the decoding loop.

encoder.onnx    source_ids [B, S], source_lengths [B] -> memory [B, S, D], for a CMLM also length_log_probs [B, L]
decoder.onnx    target_ids [B, T], target_lengths [B], memory [B, S, D], source_lengths [B] -> logits [B, T, V]
onnx.json       system, languages, ids of the special symbols, maximum length; of an alignment model also the number of
                target positions for each of the source
tokenizer.model or source.model and target.model

`passes.py` describes inputs and outputs. Positions beyond a row's length have no effect; suppressed ids have a logit of
-inf. Keys and values of cross-attention are computed in each pass, so one tensor connects the graphs instead of two for
each layer.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from maskpredict.engines.torch.loading import load_system
from maskpredict.export.passes import decode, encode, refuse_other_systems
from maskpredict.export.writing import Exported, FolderFormat, export_folder
from maskpredict.json_file import json_text
from maskpredict.model.folder import CARD_FILE, ModelFolder
from maskpredict.model.transformer import suppress
from maskpredict.runtime.settings import resolve_settings
from maskpredict.systems.alignment import Alignment
from maskpredict.systems.base import System
from maskpredict.systems.cmlm import CMLM

if TYPE_CHECKING:
    from onnx import ModelProto

ENCODER_FILE, DECODER_FILE, DESCRIPTION_FILE = "encoder.onnx", "decoder.onnx", "onnx.json"
FORMAT = FolderFormat("ONNX", ("float32", "int8"), marker=DECODER_FILE, packages=("onnx", "onnxscript", "onnxruntime"))
FORMAT_VERSION = 1
OPSET = 20
SYSTEMS = ("cmlm", "alignment", "autoregressive")


def export_onnx(
    model: str | Path | ModelFolder, out: Path, *, precision: str = "float32", overwrite: bool = False
) -> Exported:
    """Write a model as ONNX graphs; `int8` means int8 weights and dynamic quantization of activations."""
    with export_folder(FORMAT, model, out, precision=precision, overwrite=overwrite) as (contents, partial):
        refuse_other_systems(contents.system, SYSTEMS)
        system = load_system(contents)
        suppressed = resolve_settings(contents.system, contents.generation, {}).suppress_tokens
        if isinstance(system, Alignment):
            suppressed = tuple(token for token in suppressed if token != system.blank)
        _save(_encoder(system), partial / ENCODER_FILE, precision)
        _save(_decoder(system, suppressed), partial / DECODER_FILE, precision)
        description = json_text(_description(contents, system, precision))
        (partial / DESCRIPTION_FILE).write_text(description, encoding="utf-8")
        contents.tokenizers.save(partial)
        (partial / CARD_FILE).write_text(contents.card, encoding="utf-8")
    return Exported.of(out)


class _Encoder(nn.Module):
    """Exportable module of the encoder and, for a CMLM, the length head."""

    def __init__(self, system: System) -> None:
        super().__init__()
        self.system = system

    def forward(self, source_ids: Tensor, source_lengths: Tensor) -> tuple[Tensor, ...]:
        encoding = encode(self.system, source_ids, source_lengths)
        if encoding.length_log_probs_BL is None:
            return (encoding.memory_BSD,)
        return encoding.memory_BSD, encoding.length_log_probs_BL


class _Decoder(nn.Module):
    """Exportable module of one decoder pass."""

    def __init__(self, system: System, suppressed: tuple[int, ...]) -> None:
        super().__init__()
        self.system, self.suppressed = system, suppressed

    def forward(self, target_ids: Tensor, target_lengths: Tensor, memory: Tensor, source_lengths: Tensor) -> Tensor:
        return suppress(decode(self.system, target_ids, target_lengths, memory, source_lengths), self.suppressed)


def _encoder(system: System) -> ModelProto:
    batch, length = _axes("source_length")
    shapes = {"source_ids": {0: batch, 1: length}, "source_lengths": {0: batch}}
    examples = (torch.full((2, 12), system.special.eos), torch.tensor([12, 9]))
    outputs = ["memory", "length_log_probs"] if isinstance(system, CMLM) else ["memory"]
    return _graph(_Encoder(system), examples, shapes, outputs)


def _decoder(system: System, suppressed: tuple[int, ...]) -> ModelProto:
    batch, source = _axes("source_length")
    _, target = _axes("target_length")
    shapes = {
        "target_ids": {0: batch, 1: target},
        "target_lengths": {0: batch},
        "memory": {0: batch, 1: source},
        "source_lengths": {0: batch},
    }
    memory = torch.zeros(2, 12, system.config.width)
    examples = (torch.full((2, 10), system.special.eos), torch.tensor([10, 9]), memory, torch.tensor([12, 9]))
    return _graph(_Decoder(system, suppressed), examples, shapes, ["logits"])


def _axes(name: str) -> tuple[Any, Any]:
    """The two dynamic axes. The export needs a minimum size of eight (see `model.layout`), the graphs do not."""
    return torch.export.Dim("batch"), torch.export.Dim(name, min=8)


def _graph(module: nn.Module, examples: tuple[Tensor, ...], shapes: dict[str, Any], outputs: list[str]) -> ModelProto:
    with _quiet():
        program = torch.onnx.export(
            module.eval(),
            examples,
            dynamo=True,
            dynamic_shapes=shapes,
            input_names=list(shapes),
            output_names=outputs,
            opset_version=OPSET,
            verbose=False,
        )
    assert program is not None
    graph = program.model_proto
    for node in graph.graph.node:
        del node.metadata_props[:]  # stack traces, larger than the weights of a small model
    # Intermediate shapes are not needed, and the quantizer fails on those of transposed weights.
    del graph.graph.value_info[:]
    return graph


def _save(graph: ModelProto, path: Path, precision: str) -> None:
    import onnx

    if precision == "float32":
        onnx.save(graph, path)
        return
    from onnxruntime.quantization import QuantType, quantize_dynamic

    _transpose_weights(graph)
    with _quiet():
        # Seven bits, because eight overflow on CPUs without VNNI; see `int8.py`.
        quantize_dynamic(graph, path, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)


def _transpose_weights(graph: ModelProto) -> None:
    """Store weights transposed, since the quantizer skips those that a Transpose node turns.

    The exporter does so itself, but not for a matrix of the size of a real vocabulary.
    """
    from onnx import numpy_helper

    weights = {weight.name: weight for weight in graph.graph.initializer}
    for node in [node for node in graph.graph.node if node.op_type == "Transpose" and node.input[0] in weights]:
        transposed = numpy_helper.to_array(weights[node.input[0]]).transpose(node.attribute[0].ints)
        graph.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(transposed), node.output[0]))
        graph.graph.node.remove(node)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences warnings of the exporter and the quantizer."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _description(contents: ModelFolder, system: System, precision: str) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "system": contents.system,
        "languages": asdict(contents.languages),
        "special": asdict(system.special),
        "max_positions": contents.config.max_positions,
        **({"positions": contents.config.ctc_positions} if isinstance(system, Alignment) else {}),
        "precision": precision,
        "generation": dict(contents.generation),
    }
