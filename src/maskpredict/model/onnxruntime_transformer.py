"""The transformer in eight bits, run by onnxruntime: on a CPU the fastest way through passes over whole sentences.

PyTorch's products in eight bits are as fast, but around each of them it makes five small steps with costs of their own;
onnxruntime's graphs (`onnxruntime_graphs.py`) make none. A lone sentence is computed by all threads together. Several
are computed at the same time, by a thread each, which spares the threads the sharing of small pieces of work and makes
a sentence's result independent of its company.

Shape letters: S source positions, L lengths, D width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from maskpredict.model.length import LengthHead
from maskpredict.model.onnxruntime_draft_graph import draft_graph
from maskpredict.model.onnxruntime_graph import Arrays, Graph, Weights
from maskpredict.model.onnxruntime_graphs import decoder_graph, memory_names, source_graph
from maskpredict.model.transformer import Transformer

if TYPE_CHECKING:
    from onnxruntime import InferenceSession


def is_available() -> bool:
    """True when onnxruntime is installed."""
    return all(find_spec(name) is not None for name in ("onnx", "onnxruntime"))


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
        weights = Weights()
        self.source_program = Program(source_graph(int8, weights), pool, threads)
        self.decoder_program = Program(decoder_graph(int8, weights), pool, threads)
        self.draft_program = Program(draft_graph(int8, weights), pool, threads)

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

    def encode_each(self, sources: Sequence[Sequence[int]], length: LengthHead, *, slot: bool) -> list[Source]:
        """Run the encoder on ids, with the LENGTH vector in front of them if there is to be a slot."""
        table = length.table.weight.numpy(force=True)
        shared = {"slot": table[: int(slot)], "lengths": table}
        names = [name for depth in range(self.config.decoder_layers) for name in memory_names(depth)]
        rows = [{"ids": np.array(ids), **shared} for ids in sources]
        found = self.source_program.run(rows, ["encoded", "length_log_probs", *names])
        return [Source(own.pop("encoded")[0], own.pop("length_log_probs")[0], own) for own in found]


@dataclass(frozen=True)
class Source:
    """A sentence after the encoder."""

    encoded_SD: npt.NDArray[np.float32]
    """With the slot in front, if there is one."""
    length_log_probs_L: npt.NDArray[np.float32]
    """From the first position, as a `LengthHead` finds them."""
    memory: Arrays
    """Keys and values for the decoder's layers, without the slot, under the names that its graphs have for them."""


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
