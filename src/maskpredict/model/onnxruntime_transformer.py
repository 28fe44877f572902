"""The transformer in eight bits, run by onnxruntime: on a CPU the fastest way through passes over whole sentences.

PyTorch's products in eight bits are as fast, but around each of them it makes five small steps with costs of their own;
onnxruntime's graphs (`onnxruntime_graphs.py`) make none. A lone sentence is computed by all threads together. Several
are computed at the same time, by a thread each, which spares the threads the sharing of small pieces of work and makes
a sentence's result independent of its company.

Shape letters: B rows, S source positions, D width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

import numpy.typing as npt
import torch
from torch import Tensor, nn

from maskpredict.model.layout import Layout, Padded
from maskpredict.model.onnxruntime_graphs import Graph, decoder_graph, encoder_graph, memory_graph, memory_names
from maskpredict.model.transformer import Memory, Transformer

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

Arrays = dict[str, npt.NDArray[Any]]


def is_available() -> bool:
    """True when onnxruntime is installed, and this computer has the instructions that it multiplies exactly with.

    Without VNNI, its sums of products of eight-bit numbers overflow.
    """
    return torch.cpu._is_vnni_supported() and all(find_spec(name) for name in ("onnx", "onnxruntime"))


class OnnxruntimeTransformer(Transformer):
    """Does for systems that translate in passes what an `Int8Transformer` does, with its weights."""

    engine: ClassVar[str] = "onnxruntime"
    sentence_by_sentence: ClassVar[bool] = True

    def __init__(self, int8: Transformer, threads: int) -> None:
        """The linear layers of `int8` are those of `int8.py`; nothing but its embeddings is kept."""
        nn.Module.__init__(self)
        self.config, self.source, self.target = int8.config, int8.source, int8.target
        self.threads = threads
        pool = ThreadPoolExecutor(threads, thread_name_prefix="maskpredict")
        self.encoder_program = Program(encoder_graph(int8), pool, threads)
        self.memory_program = Program(memory_graph(int8), pool, threads)
        self.decoder_program = Program(decoder_graph(int8), pool, threads)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """As in `Transformer`: meanwhile PyTorch has one thread.

        Its threads go on looking for work for a while when there is none, and would keep onnxruntime's from theirs.
        """
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(self.threads)

    def encode(self, ids: Tensor, layout: Layout, *, slot: Tensor | None = None) -> Tensor:
        """As in `Transformer`."""
        assert isinstance(layout, Padded)
        lengths: list[int] = layout.lengths_B.tolist()
        front = torch.zeros(0, self.config.width) if slot is None else slot[None]
        slots = front.numpy(force=True)
        rows = [{"ids": ids[row, len(slots) : end].numpy(), "slot": slots} for row, end in enumerate(lengths)]
        encoded_BSD = torch.zeros(*ids.shape, self.config.width)
        for row, found in enumerate(self.encoder_program.run(rows, ["encoded"])):
            encoded_BSD[row, : lengths[row]] = torch.from_numpy(found["encoded"])[0]
        return encoded_BSD

    def memory(self, encoded: Tensor) -> list[Memory]:
        """As in `Transformer`. Filling is zeros, which do not change how the rest is rounded."""
        names = [memory_names(depth) for depth in range(self.config.decoder_layers)]
        rows = [{"encoded": row_1SD.contiguous().numpy()} for row_1SD in encoded.split(1)]
        found = self.memory_program.run(rows, [name for own in names for name in own])

        def together(name: str) -> Tensor:
            return torch.cat([torch.from_numpy(row[name]) for row in found]).transpose(1, 2)

        return [Memory(together(keys), together(values)) for keys, values in names]


class Program:
    """A graph ready to be run, for one sentence or for several at the same time."""

    def __init__(self, graph: Graph, pool: ThreadPoolExecutor, threads: int) -> None:
        self.model, self.weights = graph.model().SerializeToString(), graph.weights
        self.pool, self.threads = pool, threads
        self.sessions: dict[int, InferenceSession] = {}
        self.lock = Lock()

    def run(self, inputs: Sequence[Arrays], outputs: list[str]) -> list[Arrays]:
        """The outputs for each of the inputs."""
        session = self._session(1 if len(inputs) > 1 else self.threads)

        def found(own: Arrays) -> Arrays:
            return dict(zip(outputs, session.run(outputs, own), strict=True))

        return [found(inputs[0])] if len(inputs) == 1 else list(self.pool.map(found, inputs))

    def _session(self, threads: int) -> InferenceSession:
        """What runs the graph with so many threads, made when it is needed first."""
        with self.lock:
            if threads not in self.sessions:
                self.sessions[threads] = _open(self.model, self.weights, threads)
            if {1, self.threads} <= self.sessions.keys():
                self.weights.clear()  # each session has packed a copy
            return self.sessions[threads]


def _open(model: bytes, weights: Arrays, threads: int) -> InferenceSession:
    from onnxruntime import InferenceSession, OrtValue, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = threads
    # Threads must not go on looking for work when a run has ended: PyTorch or another program may have some.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    # Its own store of memory is no faster here than the system's, and gives nothing back.
    options.enable_cpu_mem_arena = False
    options.add_external_initializers(list(weights), [OrtValue.ortvalue_from_numpy(own) for own in weights.values()])
    # A sum and a layer norm in one take longer than one after the other.
    left_out = ["SkipLayerNormFusion"]
    return InferenceSession(model, options, providers=["CPUExecutionProvider"], disabled_optimizers=left_out)
