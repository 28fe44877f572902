"""Scores of an external program, such as COMET, whose dependencies conflict with ours."""

from __future__ import annotations

import math
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from maskpredict.errors import UserError
from maskpredict.evaluate.scores import MetricScore

PLACEHOLDERS = ("source", "hypothesis", "reference")


def comet_score(
    command: str, hypotheses: Sequence[str], reference: Sequence[str], sources: Sequence[str] | None = None
) -> MetricScore:
    """Run `command` and read the number at the end of its last line.

    In the command, `{source}`, `{hypothesis}` and `{reference}` stand for files of those lines. No shell is involved.
    """
    check_command(command, has_source=sources is not None)
    texts = {"source": sources, "hypothesis": hypotheses, "reference": reference}
    with TemporaryDirectory() as folder:
        files = {name: _written(Path(folder) / f"{name}.txt", lines) for name, lines in texts.items() if lines}
        last = _last_line(_filled(command, files), command)
    return MetricScore("comet", "COMET", _number(last, command), f"command:{command}")


def check_command(command: str, *, has_source: bool) -> None:
    """Refuse a command that cannot work, before anything is translated."""
    if "{hypothesis}" not in command:
        raise UserError("the COMET command does not read the translations; put {hypothesis} where their file belongs.")
    if "{source}" in command and not has_source:
        raise UserError("the COMET command reads the sources, which are not known; give them with --source.")
    _filled(command, {name: name for name in PLACEHOLDERS})


def _filled(command: str, files: Mapping[str, str]) -> list[str]:
    try:
        return [word.format_map(files) for word in shlex.split(command)]
    except (ValueError, KeyError, IndexError, AttributeError) as error:
        known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        raise UserError(f"the COMET command {command!r} cannot be read; it may have {known} and quotes.") from error


def _written(path: Path, lines: Sequence[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def _last_line(arguments: list[str], command: str) -> str:
    try:
        done = subprocess.run(arguments, capture_output=True, encoding="utf-8", errors="replace", check=False)
    except OSError as error:
        raise UserError(f"the COMET command {command!r} cannot be run: {error.strerror}.") from error
    if done.returncode != 0:
        message = _last(done.stderr) or _last(done.stdout) or "nothing"
        raise UserError(f"the COMET command {command!r} ended with code {done.returncode}; its last line: {message}")
    return _last(done.stdout)


def _last(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def _number(line: str, command: str) -> float:
    try:
        value = float(line.split()[-1])
    except (IndexError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"the COMET command {command!r} did not end in a number; its last line: {line or 'nothing'}")
    return value
