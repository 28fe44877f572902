"""A server under many kinds of clients stays as it is; `make soak` watches it for half an hour."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tests.soak.service import Crowd
from tests.soak.soak import left

Started = Callable[..., AbstractContextManager[tuple[str, subprocess.Popen[bytes]]]]


def test_a_crowd_leaves_a_server_with_the_same_answers_and_no_open_handles_or_threads(
    started: Started, cmlm_folder: Path, tmp_path: Path
) -> None:
    with started(cmlm_folder, tmp_path / "log") as (url, process):
        figures = Crowd(url).soak(process.pid, clients=14, seconds=3)
    assert figures["same_answers"]
    assert figures["errors_of_the_server"] == 0
    assert {"200", "400"} <= figures["statuses"].keys()
    assert left(figures["idle_handles"]) <= 0
    assert left(figures["idle_threads"]) <= 0
