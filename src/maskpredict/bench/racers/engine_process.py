"""An engine in a separate process, which reads requests and writes responses as JSON lines.

In one process the threads of two engines interfere: after CTranslate2 has translated once, PyTorch takes nearly twice
as long, even while CTranslate2 is idle.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

from maskpredict.errors import UserError

OPENMP_SETTINGS = {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "300000"}
"""Environment of the process, unless `OMP_WAIT_POLICY` is set: the fastest that we found. With the defaults, threads
sleep at every barrier if there are no more cores than threads, and translation takes more than twice as long."""

Answer = Callable[[Any], object]
"""Turns a request into a response; both are JSON values."""


class EngineProcess:
    """Client of a process that runs `answer_requests`."""

    def __init__(self, name: str, module: str, config: object) -> None:
        """Start the module, and have it load the engine of `config`, a JSON value; errors call the engine `name`."""
        self.name = name
        openmp = {} if "OMP_WAIT_POLICY" in os.environ else OPENMP_SETTINGS
        self.running = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **openmp},
            encoding="utf-8",
        )
        weakref.finalize(self, _end, self.running)
        self.request(config)

    def request(self, message: object) -> Any:
        """Send a request and return the response.

        An error of the engine is raised as a `RuntimeError`, or as a `UserError` if it is one.
        """
        assert self.running.stdin is not None
        assert self.running.stdout is not None
        try:
            print(json.dumps(message), file=self.running.stdin, flush=True)
            response = json.loads(self.running.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            raise UserError(f"{self.name} ended with exit code {self.running.wait()}.") from None
        if "error" in response:
            raise (UserError if response["is_user_error"] else RuntimeError)(response["error"])
        return response["result"]


def _end(running: subprocess.Popen[str]) -> None:
    with running:  # closes the pipes, which ends the process, and waits for it
        pass


def answer_requests(load: Callable[[Any], Answer]) -> None:
    """Load the engine of the first request, then answer the others until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the race, which then closes the pipe
    responses = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # keeps output of libraries out of the responses
    answer: Answer | None = None
    for line in sys.stdin:
        request, result = json.loads(line), None
        try:
            if answer is None:
                answer = load(request)
            else:
                result = answer(request)
            response: dict[str, object] = {"result": result}
        except Exception as error:  # such as out of memory
            text = "out of memory" if isinstance(error, MemoryError) else str(error)
            response = {"error": text, "is_user_error": isinstance(error, UserError)}
        print(json.dumps(response), file=responses, flush=True)
