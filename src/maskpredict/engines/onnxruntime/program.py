"""A graph ready to run: onnxruntime sessions, created at first use, and the threads that run them.

A single sentence uses all threads. Several sentences run in parallel with one thread each, because splitting one
sentence's small operators over threads costs more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from onnxruntime import InferenceSession, OrtValue, SessionOptions

from maskpredict.engines.onnxruntime.graph import Arrays, Graph
from maskpredict.memory import trim_memory


class Program:
    """Runs the graph that `build` returns. A session is created for each number of threads; the graph is not kept."""

    def __init__(self, build: Callable[[], Graph], pool: ThreadPoolExecutor, threads: int) -> None:
        """`pool` has one thread less than `threads`: the calling thread works, too."""
        self.build, self.pool, self.threads = build, pool, threads
        self.sessions: dict[int, InferenceSession] = {}
        self.lock = Lock()

    def run(self, inputs: Sequence[Arrays], outputs: list[str], *, parallel: bool) -> list[Arrays]:
        """Return the named outputs for each of the inputs: one after the other with all threads, or in parallel."""
        session = self._session(1 if parallel else self.threads)
        results: list[Arrays] = [{}] * len(inputs)
        remaining = iter(range(len(inputs)))  # shared by the threads, each of which takes the next

        def work() -> None:
            for index in remaining:
                results[index] = dict(zip(outputs, session.run(outputs, inputs[index]), strict=True))

        helpers = min(self.threads, len(inputs)) - 1 if parallel else 0
        futures = [self.pool.submit(work) for _ in range(helpers)]
        work()
        for future in futures:
            future.result()
        return results

    def _session(self, threads: int) -> InferenceSession:
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
