"""Times and what is said about several of them."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from maskpredict.bench import machine
from maskpredict.bench.timing import Spread, timed


def test_work_is_timed_and_its_result_handed_on() -> None:
    def work() -> str:
        time.sleep(0.05)
        return "done"

    result, seconds = timed(work)
    assert result == "done"
    assert 0.05 <= seconds < 5


@pytest.mark.parametrize(
    ("values", "spread"),
    [
        ([5.0, 1.0, 4.0, 2.0, 3.0], Spread(3, 2, 4)),
        ([1.0, 2.0], Spread(1.5, 1.25, 1.75)),
        ([7.0], Spread(7, 7, 7)),
        ([1.0, 1.0, 1.0, 1000.0], Spread(1, 1, 250.75)),
    ],
)
def test_half_of_the_measurements_lie_within_the_spread(values: list[float], spread: Spread) -> None:
    assert Spread.of(values) == spread


def test_what_racers_in_processes_of_their_own_compute_is_no_work_of_others() -> None:
    code = "import sys, time\nwhile time.process_time() < 0.5: pass\nprint(flush=True); sys.stdin.read()"
    before = machine._children_cpu_seconds()
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert machine._children_cpu_seconds() - before >= 0.45
    assert machine._children_cpu_seconds() - before < 0.45
