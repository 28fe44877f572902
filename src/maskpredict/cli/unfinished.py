"""Output of lines that a killed run leaves to be gone on from: `translate -o FILE`.

Lines are kept in `FILE.unfinished` as they are made, each with a digest of its input, below a record of the settings.
The same command, given again, goes on behind them. When all lines are there, they become FILE.
"""

from __future__ import annotations

import json
import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from maskpredict.cli.streams import LineWriter, output
from maskpredict.disk_errors import explain_disk_errors
from maskpredict.errors import UserError
from maskpredict.new_file import lock, open_for_writing

T = TypeVar("T")
Settings = Mapping[str, Any]
"""All that a line of output depends on besides its input, in types of JSON."""

logger = logging.getLogger(__name__)

ENDING = ".unfinished"


@contextmanager
def line_output(path: Path | None, settings: Settings, *, flush_lines: bool = False) -> Iterator[LineWriter]:
    """Open standard output, or a file that appears whole at the end and that a later run can go on from."""
    if path is None or (path.exists() and not path.is_file()) or os.name == "nt":  # no locks, so no going on
        with output(path, flush_lines=flush_lines) as writer:
            yield writer
        return
    unfinished = path.with_name(path.name + ENDING)
    with open_for_writing(unfinished, path, mode="a+b") as stream:
        if lock(stream, wait=False) and unfinished.exists():
            with _kept(path, unfinished, stream, settings) as writer:
                yield writer
        else:  # another run writes the same file; it keeps its lines there
            with output(path) as writer:
                yield writer


@contextmanager
def _kept(path: Path, unfinished: Path, stream: BinaryIO, settings: Settings) -> Iterator[LineWriter]:
    lines = _UnfinishedLines(unfinished, stream, {"kind": "unfinished lines of maskpredict", **settings})
    try:
        with explain_disk_errors(path):
            yield lines
            with output(path) as writer:
                for text in lines.finished():
                    writer.write(text)
        lines.count = 0
    finally:
        if lines.count:
            logger.warning("%s keeps %d translated lines; the same command goes on from it.", unfinished, lines.count)
        else:
            with suppress(OSError):
                unfinished.unlink()


class _UnfinishedLines(LineWriter):
    """Lines that are kept in a file until they are all there."""

    def __init__(self, path: Path, stream: BinaryIO, settings: Settings) -> None:
        super().__init__(stream, flush_lines=True)
        self._path, self._file = path, stream
        self._waiting: deque[str] = deque()
        """Digests of the lines of input that have no output yet."""
        self.count = self._opened(settings)
        """Lines of output."""

    def _opened(self, settings: Settings) -> int:
        """Return how many lines are there, after writing or comparing the settings."""
        self._file.seek(0)
        first = self._file.readline()
        if not first.endswith(b"\n"):
            self._file.truncate(0)
            super().write(json.dumps(settings))
            return 0
        earlier = _parsed(first)
        if not isinstance(earlier, dict) or earlier.get("kind") != settings["kind"]:
            raise UserError(f"{self._path} is not what an earlier run left; move it away.")
        for name, value in settings.items():
            if earlier.get(name) != json.loads(json.dumps(value)):
                raise self._refusal(f"with another {name}")
        count, end = 0, self._file.tell()
        while self._file.readline().endswith(b"\n"):
            count, end = count + 1, self._file.tell()
        self._file.truncate(end)  # a line that was being written
        return count

    def _refusal(self, difference: str) -> UserError:
        return UserError(
            f"{self._path} was left by a run {difference}; repeat that command to go on from it, or delete it."
        )

    def remaining(self, lines: Iterable[T], key: Callable[[T], object]) -> Iterator[T]:
        """As in `LineWriter`."""
        inputs = iter(lines)
        if self.count:
            logger.warning("%s has %d translated lines; going on after them.", self._path, self.count)
        for number, (digest, _) in enumerate(self._records(), 1):
            line = next(inputs, None)
            if line is None or _digest(key(line)) != digest:
                raise self._refusal(f"over another text, which differs in line {number}")
        for line in inputs:
            self._waiting.append(_digest(key(line)))
            yield line

    def write(self, text: str) -> None:
        """Keep one line of output; it survives the end of this process."""
        super().write(json.dumps([self._waiting.popleft(), text], ensure_ascii=False))
        self.count += 1

    def finished(self) -> Iterator[str]:
        """Yield all lines of output."""
        return (text for _, text in self._records())

    def _records(self) -> Iterator[tuple[str, str]]:
        with self._path.open("rb") as reader:
            reader.readline()
            for number, line in enumerate(reader, 2):
                record = _parsed(line)
                if not (isinstance(record, list) and [type(one) for one in record] == [str, str]):
                    raise UserError(f"{self._path} is damaged in line {number}; delete it.")
                yield record[0], record[1]


def _digest(value: object) -> str:
    return sha256(repr(value).encode()).hexdigest()[:16]


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
