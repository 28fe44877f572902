"""Random requests get no error of the server; `make torture` sends many more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent / "fuzz_server.py"


def test_random_bytes_are_never_an_error_of_the_server(server_url: str, server_log: Path) -> None:
    before = len(server_log.read_text())
    command = [sys.executable, str(SCRIPT), "800", "--url", server_url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    statuses = json.loads(done.stdout)["statuses"]
    assert {"200", "400", "404", "405"} <= set(statuses)
    assert "internal error" not in server_log.read_text()[before:]
