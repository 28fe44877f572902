"""Threads that wait for each other do not keep the CPU for themselves."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, "5000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, "None")],
)
def test_openmp_is_told_before_pytorch_is_loaded_unless_the_user_has_told_it(
    given: dict[str, str], expected: str
) -> None:
    code = "import maskpredict, os, sys; print('torch' in sys.modules, os.environ.get('GOMP_SPINCOUNT'))"
    clean = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    done = subprocess.run([sys.executable, "-c", code], env={**clean, **given}, capture_output=True, text=True)
    assert done.stdout.split() == ["False", expected], done.stderr
