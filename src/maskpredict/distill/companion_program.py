"""The program of a companion: see `companion.py`."""

from __future__ import annotations

import json
import os
import sys
import threading

from maskpredict.config import from_dict
from maskpredict.distill.config import DistillConfig
from maskpredict.distill.run import Work


def main() -> None:
    """Make the shards that the orders on the standard input name."""
    orders = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_input, daemon=True).start()
    work = Work(from_dict(DistillConfig, orders["config"]))
    work.make(orders["index"], orders["every"], lambda sentences: print(sentences, flush=True))


def _end_with_the_input() -> None:
    sys.stdin.read()
    os._exit(1)  # whoever gave the orders is gone


if __name__ == "__main__":
    main()
