"""A training process that is stuck says where, and ends, so that torchrun can start it again."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from maskpredict.training.watchdog import STUCK, Watchdog

PROGRAM = """
import sys, threading, time
from maskpredict.training.watchdog import Watchdog

def wait_for_a_file_that_never_comes():
    threading.Event().wait()

with Watchdog(3, float(sys.argv[1])) as watchdog:
    for update in range(5):
        watchdog.progress(f"update {update}")
    wait_for_a_file_that_never_comes()
"""


def test_a_stuck_process_is_reported_with_its_stack() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, "0.5"], capture_output=True, text=True, timeout=120)
    assert done.returncode == STUCK
    assert "process 3 has made no progress for 0.5 seconds, in update 4" in done.stderr
    assert "wait_for_a_file_that_never_comes" in done.stderr


@pytest.mark.parametrize("seconds", [0.3, None])
def test_a_process_that_makes_progress_or_may_take_any_time_goes_on(seconds: float | None) -> None:
    """Were it taken for stuck, this process would end."""
    with Watchdog(0, seconds) as watchdog:
        for update in range(10):
            watchdog.progress(f"update {update}")
            time.sleep(0.04)
    assert "watchdog" not in {thread.name for thread in threading.enumerate()} or seconds is not None
