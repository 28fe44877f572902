"""A graph ready to run: onnxruntime sessions, created at first use, and the threads that run them.

A single sentence uses all threads. Several sentences run in parallel with one thread each, because splitting one
sentence's small operators over threads costs more.
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


class WorkerThreads:
    """A thread pool whose threads compute one sentence at a time each."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._local = local()
        self._pool = ThreadPoolExecutor(threads, "maskpredict", initializer=self._mark_worker)

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Call the tasks in parallel, and return their results in order."""
        if len(tasks) == 1:
            return [tasks[0]()]
        return list(self._pool.map(lambda task: task(), tasks))

    def threads_here(self) -> int:
        """Return the threads that a computation may use: one inside a parallel task, else all."""
        return 1 if getattr(self._local, "is_worker", False) else self.threads

    def _mark_worker(self) -> None:
        self._local.is_worker = True


class Program:
    """Runs the graph that `build` returns. A session is created for each number of threads; the graph is not kept."""

    def __init__(self, build: Callable[[], Graph], workers: WorkerThreads) -> None:
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
    options.log_severity_level = 3  # errors; it would warn of inputs with defaults
    # Do not let threads spin after a run: other sessions and processes need the cores.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    # The arena is no faster here than the system's allocator, and never returns memory.
    options.enable_cpu_mem_arena = False
    values = [OrtValue.ortvalue_from_numpy(array) for array in graph.weights.values()]
    options.add_external_initializers(list(graph.weights), values)
    return InferenceSession(
        graph.model().SerializeToString(),
        options,
        providers=["CPUExecutionProvider"],
        # The fused residual sum and layer norm is slower than two operators.
        disabled_optimizers=["SkipLayerNormFusion"],
    )
