"""Main program of a distillation worker (see `worker_process.py`)."""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

from maskpredict.config import from_dict
from maskpredict.disk_errors import explain_disk_errors
from maskpredict.distill.by_text.config import TextDistillConfig
from maskpredict.distill.by_text.run import TextDistillation
from maskpredict.distill.config import DistillConfig
from maskpredict.distill.run import Distillation
from maskpredict.errors import UserError


def main() -> None:
    """Make the shards that the JSON line on standard input describes."""
    job = json.loads(sys.stdin.readline())
    threading.Thread(target=_exit_when_input_closes, daemon=True).start()
    try:
        with explain_disk_errors(job["config"]["out"]):
            _make_shards(job)
    except UserError as error:
        sys.exit(f"error: {error}")


def _make_shards(job: dict[str, Any]) -> None:
    distillation: Distillation | TextDistillation
    if job["by_text"]:
        distillation = TextDistillation(from_dict(TextDistillConfig, job["config"]))
    else:
        distillation = Distillation(from_dict(DistillConfig, job["config"]))
    distillation.make(job["index"], job["every"], lambda sentences: print(sentences, flush=True))


def _exit_when_input_closes() -> None:
    sys.stdin.read()
    os._exit(1)  # the parent process has ended


if __name__ == "__main__":
    main()
