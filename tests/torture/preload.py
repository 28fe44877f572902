"""The library of `faults.c`, with which processes find a failing disk and a clock that jumps."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

FOLDER, CALL, COUNT, CLOCK = "FAULT_FOLDER", "FAULT_CALL", "FAULT_COUNT", "FAULT_CLOCK"
"""The environment variables that it reads, at each call."""


def build(folder: Path) -> Path | None:
    """Compile the library into a folder; None without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    library = folder / "faults.so"
    source = Path(__file__).with_name("faults.c")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def begin() -> None:
    """Count from 0 again, in a process that was forked."""
    with suppress(AttributeError):
        ctypes.CDLL(None).fault_begin()


def calls() -> int:
    """How often this process has read, written, flushed or opened a file of the failing disk; 0 without the library."""
    try:
        return int(ctypes.CDLL(None).fault_calls())
    except AttributeError:
        return 0
