"""A teacher from outside in a process of its own: threads of two engines in one process slow each other down."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Sequence
from typing import Any, TextIO

from maskpredict.bench.racers.ctranslate2_process import OPENMP_SETTINGS
from maskpredict.config import from_dict, to_dict
from maskpredict.distill.teachers import TeacherConfig, TextTeacher, best_translations, open_teacher
from maskpredict.errors import UserError


class TeacherProcess:
    """Client of the process."""

    def __init__(self, config: TeacherConfig) -> None:
        """Start the process and load the teacher."""
        openmp = {} if "OMP_WAIT_POLICY" in os.environ else OPENMP_SETTINGS
        self.running = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **openmp},
            encoding="utf-8",
        )
        weakref.finalize(self, _end, self.running)
        self._request(to_dict(config))

    def translate(self, lines: Sequence[str]) -> list[str]:
        """The best translation of each line; empty for one that is too long for the teacher."""
        texts: list[str] = self._request(list(lines))
        return texts

    def _request(self, message: Any) -> Any:
        assert self.running.stdin is not None
        assert self.running.stdout is not None
        try:
            print(json.dumps(message), file=self.running.stdin, flush=True)
            response = json.loads(self.running.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            raise UserError(f"the teacher ended with exit code {self.running.wait()}.") from None
        if "error" in response:
            raise UserError(response["error"])
        return response["result"]


def _end(running: subprocess.Popen[str]) -> None:
    with running:  # closes the pipes, which ends the process, and waits for it
        pass


def main(requests: TextIO, responses: TextIO) -> None:
    """Load the teacher of the first request, then translate the lines of the others."""
    teacher: TextTeacher | None = None
    for line in requests:
        request, result = json.loads(line), None
        try:
            if teacher is None:
                teacher = open_teacher(from_dict(TeacherConfig, request))
            else:
                result = best_translations(teacher, request)
            response: dict[str, object] = {"result": result}
        except UserError as error:
            response = {"error": str(error)}
        print(json.dumps(response), file=responses, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the race, which then closes the pipe
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # keeps output of libraries out of the responses
    main(sys.stdin, answers)
