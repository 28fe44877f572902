"""Input and output of verbs that are Unix filters."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from maskpredict.corpus.compressed import compressing
from maskpredict.corpus.reading import STDIN, CorpusConfig, Pair, read_lines, read_pairs
from maskpredict.errors import UserError
from maskpredict.new_file import new_file, open_for_writing
from maskpredict.progress import Progress, Task

SECONDS_UNTIL_PROGRESS = 3.0

T = TypeVar("T")


def input_lines(file: Path | None) -> Iterator[str]:
    """The lines of a file, or of standard input."""
    return read_lines(file or STDIN)


def input_pairs(files: Sequence[Path]) -> Iterator[Pair]:
    """Pairs from two aligned files, or from one of `source TAB target` lines, standard input if there is none."""
    if len(files) > 2:
        raise UserError(f"{len(files)} files are too many; give sources and targets, or one of tab-separated pairs.")
    if len(files) == 2:
        return read_pairs(CorpusConfig(source=files[0], target=files[1]))
    return read_pairs(CorpusConfig(tsv=files[0] if files else STDIN))


def is_interactive(file: Path | None) -> bool:
    """Return whether the input is typed in a terminal, so that each line needs its answer at once."""
    return file in (None, STDIN) and sys.stdin.isatty()


class LineWriter:
    """Writes lines in UTF-8, whatever the locale is."""

    def __init__(self, stream: BinaryIO, *, flush_lines: bool) -> None:
        self._stream, self._flush_lines = stream, flush_lines

    def remaining(self, lines: Iterable[T], key: Callable[[T], object]) -> Iterator[T]:
        """Yield the lines of input that have no line of output yet; `key` is what the output of one depends on."""
        yield from lines

    def write(self, text: str) -> None:
        """Write one line."""
        self._stream.write(text.encode("utf-8") + b"\n")
        if self._flush_lines:
            self._stream.flush()

    def write_json(self, record: Any) -> None:
        """Write one JSON document as a line; infinities and NaN become null."""
        self.write(json.dumps(_finite(record), ensure_ascii=False, allow_nan=False))


@contextmanager
def output(path: Path | None, *, flush_lines: bool = False) -> Iterator[LineWriter]:
    """Standard output, or a file that appears whole at the end or not at all; `flush_lines` flushes every line.

    A file is compressed if its name ends in .gz, .bz2, .xz or .zst.
    """
    if path is None:
        yield LineWriter(sys.stdout.buffer, flush_lines=flush_lines)
        sys.stdout.buffer.flush()
    elif path.exists() and not path.is_file():  # a device or pipe, which cannot be replaced
        with open_for_writing(path) as stream:
            yield LineWriter(stream, flush_lines=flush_lines)
    else:
        with new_file(path) as stream, compressing(stream, path.suffix) as compressed:
            yield LineWriter(compressed, flush_lines=flush_lines)


def with_progress(
    items: Iterable[T], description: str, output_file: Path | None = None, *, total: int | None = None
) -> Iterator[T]:
    """The items, with their count on stderr after a few seconds, unless the output shows in the same terminal.

    `total` is the number of items if it is known.
    """
    started, task = time.monotonic(), None
    with ExitStack() as stack:
        for done, item in enumerate(items, 1):
            yield item
            if task is not None:
                task.advance()
            elif time.monotonic() - started > SECONDS_UNTIL_PROGRESS and _shows_progress(output_file):
                task = _started_task(stack, description, done, total)


def _started_task(stack: ExitStack, description: str, done: int, total: int | None) -> Task:
    task = stack.enter_context(Progress()).task(description, total)
    task.advance(done)
    return task


def _shows_progress(output_file: Path | None) -> bool:
    return output_file is not None or (sys.stderr.isatty() and not sys.stdout.isatty())


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
    return value
