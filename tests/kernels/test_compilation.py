"""The kernels as a GPU would get them; what they compute is tested by the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

LAUNCHED = {
    *("_embed", "_linear", "_attend_prefix", "_cross_attend", "_begin", "_between_passes", "_best"),  # mask-predict
    *("_normed", "_block_bests"),
    *("_begin_alignments", "_add_words"),  # alignments
    *("_attend", "_scan", "best_of_groups", "continue_beams"),  # beam search
    *("_forward", "_backward", "_sum_alignments", "_find_best"),  # training
}
MAX_SHARED_MEMORY = 227 * 1024
"""Bytes that a program can have on a Hopper."""


@pytest.mark.usefixtures("triton")
def test_every_kernel_compiles_for_hopper_and_fits(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path)
    script = Path(__file__).with_name("compile_only.py")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    kernels = [json.loads(line) for line in done.stdout.splitlines()]
    assert {kernel["name"] for kernel in kernels} == LAUNCHED
    for kernel in kernels:
        assert kernel["machine_code"] > 0
        assert kernel["shared"] <= MAX_SHARED_MEMORY, kernel
