"""A graph ready to run: sessions made when they are first needed, and the threads that run them.

A lone sentence is computed by all threads together. Several are computed at the same time by one thread each, which
spares the threads the sharing of small pieces of work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock, local
from typing import TypeVar

from onnxruntime import InferenceSession, OrtValue, SessionOptions

from maskpredict.engines.onnxruntime.graph import Arrays, Graph
from maskpredict.memory import trim_memory

T = TypeVar("T")


class Workers:
    """Threads that each compute one sentence at a time."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._local = local()
        self._pool = ThreadPoolExecutor(threads, "maskpredict", initializer=self._mark)

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Call the tasks, several at the same time, and return their results in order."""
        if len(tasks) == 1:
            return [tasks[0]()]
        return list(self._pool.map(lambda task: task(), tasks))

    def threads_here(self) -> int:
        """Return how many threads a computation may use: one inside a task among several, else all."""
        return 1 if getattr(self._local, "is_worker", False) else self.threads

    def _mark(self) -> None:
        self._local.is_worker = True


class Program:
    """Runs a graph, which `build` makes; it is built once for each number of threads, and not kept."""

    def __init__(self, build: Callable[[], Graph], workers: Workers) -> None:
        self.build, self.workers = build, workers
        self.sessions: dict[int, InferenceSession] = {}
        self.lock = Lock()

    def run(self, inputs: Arrays, outputs: list[str]) -> Arrays:
        """Return the named outputs for these inputs."""
        return dict(zip(outputs, self._session().run(outputs, inputs), strict=True))

    def _session(self) -> InferenceSession:
        threads = self.workers.threads_here()
        session = self.sessions.get(threads)
        if session is None:
            with self.lock:
                if threads not in self.sessions:
                    self.sessions[threads] = _open(self.build(), threads)
                    trim_memory()  # the session has packed copies of the weights
                session = self.sessions[threads]
        return session


def _open(graph: Graph, threads: int) -> InferenceSession:
    options = SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads must not spin when a run has ended: another program, or another model, may have work for the core.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    # The arena is no faster here than the system's allocator, and gives nothing back.
    options.enable_cpu_mem_arena = False
    values = [OrtValue.ortvalue_from_numpy(array) for array in graph.weights.values()]
    options.add_external_initializers(list(graph.weights), values)
    return InferenceSession(
        graph.model().SerializeToString(),
        options,
        providers=["CPUExecutionProvider"],
        # A residual sum and a layer norm in one operator take longer than one after the other.
        disabled_optimizers=["SkipLayerNormFusion"],
    )
