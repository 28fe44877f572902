"""What a reader of hostile input must not do: run programs or open files elsewhere, fail in other ways than with one
sentence, or take long.

Python tells an audit hook of every program that is started and every file and connection that is opened, by whichever
library. The hook cannot be removed again, so it looks only while a reader runs.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import maskpredict
from maskpredict.errors import UserError

SECONDS = 2.0
"""Computing time that any input of a few kilobytes may take."""
_PROGRAMS = (
    "os.system",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "subprocess.Popen",
    "socket.connect",
    "socket.bind",
    "socket.getaddrinfo",
)
_CHANGES = ("os.remove", "os.rename", "os.rmdir", "os.chmod", "os.link", "os.symlink", "os.truncate", "shutil.rmtree")
_PLACES: set[str] = {sys.prefix, sys.base_prefix, *map(str, sysconfig.get_paths().values())}
_LIBRARIES = tuple(map(os.path.realpath, [*_PLACES, str(Path(maskpredict.__file__).parents[2])]))
"""Where modules and their data may be read."""
_SYSTEM = ("/proc/", "/sys/", "/dev/null", "/dev/urandom", "/etc/localtime", "/usr/share/zoneinfo")


class Escape(Exception):
    """A reader did what no file may make it do."""


class Slow(Exception):
    """A reader took too long."""


_folders: list[str] = []
"""Where files may be opened now; empty while no reader runs."""


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _folders:
        return
    if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        if _is_in_open_folder(arguments[0]):
            return
        path = os.path.realpath(os.fsdecode(arguments[0]))
        writes = isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        readable = not writes and path.startswith((*_LIBRARIES, *_SYSTEM))
        if not readable and not path.startswith(_folders[-1]):
            raise Escape(f"opened {path}")
    elif event in _PROGRAMS or (event in _CHANGES and not _is_inside(arguments)):
        raise Escape(f"{event} {arguments}")


def _is_inside(arguments: tuple[Any, ...]) -> bool:
    paths = [one for one in arguments if isinstance(one, str | bytes | os.PathLike)]
    return bool(paths) and all(
        _is_in_open_folder(path) or os.path.realpath(os.fsdecode(path)).startswith(_folders[-1]) for path in paths
    )


def _is_in_open_folder(path: str | bytes | os.PathLike[str]) -> bool:
    """True for a plain name, which `shutil.rmtree` uses within a folder that it has opened."""
    return os.sep not in os.fsdecode(path)


sys.addaudithook(_audit)


@contextmanager
def guarded(folder: Path) -> Iterator[None]:
    """Let the block open files in this folder alone, and run no programs."""
    _folders.append(str(folder.resolve()))
    try:
        yield
    finally:
        _folders.pop()


def check(read: Callable[[bytes], object], content: bytes, folder: Path) -> str | None:
    """Read the content; return the sentence with which it was refused, or None if it was not.

    Raises whatever else came out of the reader, `Escape` or `Slow`.
    """
    begin, sentence = time.thread_time(), None
    with guarded(folder):
        try:
            read(content)
        except UserError as error:
            sentence = str(error)
    if (seconds := time.thread_time() - begin) > SECONDS:
        raise Slow(f"{seconds:.1f} seconds for {len(content)} bytes")
    return sentence


def check_sentence(read: Callable[[bytes], object], content: bytes, folder: Path) -> None:
    """`check`, which also refuses what is not one sentence."""
    sentence = check(read, content, folder)
    if sentence is not None and (not sentence or "\n" in sentence):
        raise ValueError(f"not one sentence: {sentence!r}")
