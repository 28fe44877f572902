"""A client that openapi-python-client generates from the server's description works."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from uv import find_uv_bin

GENERATOR = "openapi-python-client==0.29.1"


def test_a_generated_client_translates_and_is_told_what_was_wrong(
    server_url: str, translated: Callable[[str], str], tmp_path: Path
) -> None:
    program = Path(__file__).with_name("use_generated_client.py")
    command = [find_uv_bin(), "run", "--quiet", "--isolated", "--no-project", "--with", GENERATOR, "python"]
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [*command, str(program), server_url, str(tmp_path)],
        capture_output=True, text=True, timeout=300, cwd=tmp_path, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    (sentence,) = answers["text"]["sentences"]
    assert (sentence["source"], sentence["passes"]) == ("luri tisa kone.", 2)
    assert answers["texts"] == {"translations": [translated("bane.")]}
    assert answers["glossary"]["error"].startswith("line 1 of the glossary has no source and target")
