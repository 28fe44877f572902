"""A verb of the command line in a forked process, which may be killed, or its disk be full or fail, at any moment.

Forking spares the seconds that importing PyTorch takes, so some hundred runs take minutes. The process that forks must
not have computed anything: threads do not survive a fork.
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.torture import preload

MARK = "MASKPREDICT_TORTURE"
"""Environment variable that all processes of a run inherit."""
PATIENCE = 600.0
"""Seconds until a run that does not end, or a process that is left over, is an error."""
_CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "shutil.copyfile", "subprocess.Popen"}


@dataclass(frozen=True)
class Fault:
    """What happens to a run; all None is a run without a fault."""

    seconds: float | None = None
    """Kill it after this time."""
    operation: int | None = None
    """Kill it right before this change of the file system, counted from 0."""
    file_size: int | None = None
    """Let no file grow beyond this many bytes."""
    call: int | None = None
    """Let this read, write, flush or opening of a file fail, counted from 0."""
    count: int = 1
    """How many of them fail in a row."""


NO_FAULT = Fault()


@dataclass(frozen=True)
class Ending:
    """How a run ended."""

    code: int
    """Exit code, negative for a signal."""
    seconds: float
    operations: int
    """Changes of the file system until then; 0 if it was killed."""
    calls: int
    """Reads, writes, flushes and openings of files until then; 0 if it was killed."""
    said: str
    """Its stdout and stderr."""

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


def run(arguments: Sequence[str], folder: Path, fault: Fault = NO_FAULT) -> Ending:
    """Run `maskpredict ARGUMENTS` in a folder."""
    counter, speech = _Pipe(), _Pipe()
    started, process = time.monotonic(), os.fork()
    if process == 0:
        _become(arguments, folder, fault, counter, speech)
    status = _wait(process, fault.seconds)
    seconds = time.monotonic() - started
    operations, calls = map(int, (counter.read() or "0 0").split())
    return Ending(os.waitstatus_to_exitcode(status), seconds, operations, calls, speech.read())


class _Pipe:
    """A pipe that keeps what is written to it until the writer has ended; unlike a file it has no limit of size."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        fcntl.fcntl(self.writer, fcntl.F_SETPIPE_SZ, 1 << 20)
        os.set_blocking(self.reader, False)

    def read(self) -> str:
        """Close the pipe and return its content."""
        os.close(self.writer)
        with os.fdopen(self.reader, "rb") as stream:
            return (stream.read() or b"").decode(errors="replace")


def left_processes() -> list[int]:
    """Processes that runs have started and that are still there a while after their end."""
    deadline = time.monotonic() + PATIENCE
    while (left := _marked()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def _marked() -> list[int]:
    mark, found = f"{MARK}=".encode(), []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark in environment.read_bytes():
                found.append(int(environment.parent.name))
    return found


def _wait(process: int, seconds: float | None) -> int:
    """The status of a process, which is killed after so many seconds."""
    deadline = time.monotonic() + (PATIENCE if seconds is None else seconds)
    while time.monotonic() < deadline:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return status
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    if seconds is None:
        raise AssertionError(f"process {process} did not end within {PATIENCE:g} seconds")
    return status


def _become(arguments: Sequence[str], folder: Path, fault: Fault, counter: _Pipe, speech: _Pipe) -> None:
    """Run the verb in this process, and end it."""
    code, count = 1, 0

    def observe(event: str, values: tuple[Any, ...]) -> None:
        nonlocal count
        if event in _CHANGES or (event == "open" and _writes(values)):
            if count == fault.operation:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1

    try:
        os.chdir(folder)
        os.environ[MARK] = "1"
        os.dup2(speech.writer, 1)
        os.dup2(speech.writer, 2)
        if fault.file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (fault.file_size, fault.file_size))
        if fault.call is not None:
            os.environ |= {preload.CALL: str(fault.call), preload.COUNT: str(fault.count)}
        sys.addaudithook(observe)
        preload.begin()
        code = _verb(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        with suppress(OSError):
            os.write(counter.writer, f"{count} {preload.calls()}".encode())
        os._exit(code)


def _verb(arguments: Sequence[str]) -> int:
    import traceback

    from maskpredict.cli import app

    try:
        app(list(arguments), prog_name="maskpredict")
    except SystemExit as end:
        return int(end.code or 0) if not isinstance(end.code, str) else 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _writes(values: tuple[Any, ...]) -> bool:
    """Whether a file is opened for writing."""
    path, _, flags = values
    return isinstance(path, str | os.PathLike) and bool(flags & (os.O_WRONLY | os.O_RDWR))
