"""Progress on stderr: bars in a terminal, an occasional plain line elsewhere.

    with Progress() as progress:
        task = progress.task("Encoding", total=1_000)
        task.advance(100, loss="3.21")

`Progress(quiet=True)` shows nothing, so library functions can always report.
"""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Column

SECONDS_BETWEEN_LINES = 30.0
WIDE = 100
"""Width of a terminal from which on the elapsed time is shown."""


class Task:
    """A task within a `Progress`."""

    def __init__(self, progress: Progress, description: str, total: int | None) -> None:
        self.description = description
        self.total = total
        self.done = 0
        self._progress = progress
        self._fields: dict[str, str] = {}
        self._started = self._last_line = time.monotonic()
        bars = progress._bars
        self._bar = bars.add_task(description, total=total, fields="") if bars else None

    def advance(self, steps: int = 1, **fields: str) -> None:
        """Add finished steps; `fields` are short texts shown behind the bar until replaced."""
        self.done += steps
        self._fields.update(fields)
        bars = self._progress._bars
        if bars is not None and self._bar is not None:
            bars.update(self._bar, advance=steps, fields=self._shown_fields())
        elif time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._write_line()

    def finish(self) -> None:
        """Mark the task as finished, whatever its total was."""
        self.total = self.done
        bars = self._progress._bars
        if bars is not None and self._bar is not None:
            bars.update(self._bar, total=self.done, completed=self.done)
        else:
            self._write_line()

    def _shown_fields(self) -> str:
        return "  ".join(f"{name} {value}" for name, value in self._fields.items())

    def _write_line(self) -> None:
        self._last_line = time.monotonic()
        of_total = f" of {self.total:,}" if self.total not in (None, self.done) else ""
        seconds = f"{self._last_line - self._started:.0f} s"
        parts = [f"{self.description}: {self.done:,}{of_total}", seconds, self._shown_fields()]
        self._progress._write("  ".join(part for part in parts if part))


class Progress:
    """Tasks that are shown together; a context manager."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True, quiet=quiet, highlight=False)
        self._bars = _bars(self._console) if self._console.is_terminal and not quiet else None

    def task(self, description: str, total: int | None = None) -> Task:
        """Start a task; `total` is None if it is unknown."""
        return Task(self, description, total)

    def _write(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)

    def __enter__(self) -> Progress:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()


def _bars(console: Console) -> Bars:
    """Bars that fit the console: the bar shrinks first, and no number is cut at 80 columns."""

    def whole() -> Column:
        return Column(no_wrap=True)

    return Bars(
        TextColumn("{task.description}", table_column=Column(no_wrap=True, max_width=max(10, console.width - 56))),
        BarColumn(bar_width=None, table_column=Column(max_width=40)),
        MofNCompleteColumn(table_column=whole()),
        *([TimeElapsedColumn(table_column=whole())] if console.width >= WIDE else []),
        TimeRemainingColumn(table_column=whole()),
        TextColumn("{task.fields[fields]}", table_column=whole()),
        console=console,
    )
