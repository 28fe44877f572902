"""Throughput of all processes of a distillation."""

from __future__ import annotations

import threading
import time

from maskpredict.progress import Task


class Throughput:
    """Sentences per second, shown with the progress."""

    def __init__(self, task: Task) -> None:
        self.task, self.started, self.sentences = task, time.monotonic(), 0
        self.lock = threading.Lock()  # each worker process reports from a thread of its own

    def add(self, sentences: int) -> None:
        """Count translated sentences."""
        with self.lock:
            self.sentences += sentences
            self.task.advance(sentences, speed=f"{self.sentences / (time.monotonic() - self.started):,.0f}/s")
