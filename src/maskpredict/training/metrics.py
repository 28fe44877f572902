"""Metrics of a run: metrics.jsonl, the same numbers for TensorBoard, and throughput."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from maskpredict.new_file import new_file

METRICS_FILE = "metrics.jsonl"


class MetricsLog:
    """Appends records to RUN/metrics.jsonl and RUN/tensorboard."""

    def __init__(self, run: Path, updates_made: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.path = run / METRICS_FILE
        _drop_records_after(self.path, updates_made)
        self.file = self.path.open("a", encoding="utf-8")
        self.board = SummaryWriter(str(run / "tensorboard"), purge_step=updates_made + 1)

    def record(self, kind: str, update: int, values: dict[str, Any]) -> None:
        """Write one record; `kind` is train or valid."""
        self.file.write(json.dumps({"kind": kind, "update": update, **values}) + "\n")
        self.file.flush()
        for name, value in values.items():
            if isinstance(value, int | float):
                self.board.add_scalar(f"{kind}/{name}", value, update)

    def close(self) -> None:
        """Flush and close both."""
        self.file.close()
        self.board.close()


def _drop_records_after(path: Path, update: int) -> None:
    """Drop the records after the checkpoint from which a run continues."""
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    kept = [line for line in lines if _is_record_until(update, line)]
    with new_file(path) as file:
        file.write("".join(line + "\n" for line in kept).encode())


def _is_record_until(update: int, line: str) -> bool:
    """Whether a line is whole, which the last of a killed process may not be, and of an update up to this one."""
    try:
        return bool(json.loads(line)["update"] <= update)
    except (ValueError, TypeError, KeyError):
        return False


class Throughput:
    """Counts tokens and measures tokens per second."""

    def __init__(self) -> None:
        self.tokens = 0
        self.since = time.monotonic()

    def tokens_per_second(self) -> float:
        """Tokens per second since the last call."""
        now = time.monotonic()
        rate = self.tokens / max(now - self.since, 1e-9)
        self.tokens, self.since = 0, now
        return rate
