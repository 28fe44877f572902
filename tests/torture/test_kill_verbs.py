"""Verbs that are killed, or whose disk is full, end as if nothing had happened; `make torture` tries more often."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

KILLS = 20


def test_killed_verbs_continue_to_the_same_result_and_leave_nothing_behind(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in (str(root), *sys.path) if path)
    command = [sys.executable, "-m", "tests.torture.kill_verbs", str(KILLS), "--seed", "7"]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert counts["kills"] == KILLS
    assert counts["full_disks"] > 0
    assert counts["kept"] > 0
    assert all(tally["stories"] for tally in counts["verbs"].values())
