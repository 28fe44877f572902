"""More processes beside this one, on the same GPU, each making its share of the shards.

A companion is a program of its own (`companion_program.py`). It reads its orders from its standard input and writes a
line for each batch: the sentences it has translated.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from types import TracebackType

from maskpredict.config import to_dict
from maskpredict.distill.config import DistillConfig
from maskpredict.errors import UserError


class Companion:
    """One such process; it is gone when the `with` block is left."""

    def __init__(self, config: DistillConfig, index: int, every: int, report: Callable[[int], None]) -> None:
        """It makes the shards `index`, `index + every`, ...; `report` gets the number of sentences in each batch."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "maskpredict.distill.companion_program"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin is not None
        # Not closed: the companion ends when it is, as it is when this process ends for whatever reason.
        self.process.stdin.write(json.dumps({"config": to_dict(config), "index": index, "every": every}) + "\n")
        self.process.stdin.flush()
        self.listener = threading.Thread(target=self._listen, args=(report,), daemon=True)
        self.listener.start()

    def _listen(self, report: Callable[[int], None]) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            report(int(line))

    def check(self) -> None:
        """Raise if it ended in failure."""
        if self.process.poll():
            raise UserError(
                f"a companion process ended with exit code {self.process.returncode}, for the reason given above; "
                "the same command goes on, and processes=1 does without one."
            )

    def __enter__(self) -> Companion:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()
        self.listener.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()
