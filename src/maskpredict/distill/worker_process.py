"""Worker processes on the same GPU, each of which makes a share of the shards.

A worker runs `worker_main.py`. It reads its configuration from standard input and writes a line for each batch: the
number of translated sentences.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from maskpredict.config import to_dict
from maskpredict.distill.config import DistillConfig
from maskpredict.errors import UserError

if TYPE_CHECKING:
    from maskpredict.distill.by_text.config import TextDistillConfig


class WorkerProcess:
    """A worker process, which ends with the `with` block."""

    def __init__(
        self, config: DistillConfig | TextDistillConfig, index: int, every: int, report: Callable[[int], None]
    ) -> None:
        """Start making the shards `index`, `index + every`, ...; `report` gets the sentences of each batch."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "maskpredict.distill.worker_main"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin is not None
        # Kept open: the worker ends when it is closed, as the system does when this process ends for any reason.
        by_text = not isinstance(config, DistillConfig)
        job = {"config": to_dict(config), "by_text": by_text, "index": index, "every": every}
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        self.listener = threading.Thread(target=self._listen, args=(report,), daemon=True)
        self.listener.start()

    def _listen(self, report: Callable[[int], None]) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            report(int(line))

    def check(self) -> None:
        """Raise if the worker failed."""
        if self.process.poll():
            raise UserError(
                f"a worker process ended with exit code {self.process.returncode}, for the reason given above; "
                "the same command continues, and processes=1 uses a single process."
            )

    def __enter__(self) -> WorkerProcess:
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
