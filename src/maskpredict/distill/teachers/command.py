"""A teacher that is any program: it reads sources, a line each, and writes as many lines of translations.

The program is started anew for each batch. A batch fails if the program ends with an error, takes too long, or answers
with another number of lines or with invalid UTF-8. Each half of it is then tried again alone, and so on, down to single
lines; one that fails alone has no translation.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence

from maskpredict.distill.teachers.base import ScoredText, TeacherConfig, Translations
from maskpredict.errors import UserError

RETRIES_BEYOND_HALVING = 4
"""Failures in a row, besides those on the way to a single line, after which the program is taken to be broken."""
SHOWN_CHARACTERS = 200


class _BatchFailed(Exception):
    """The reason why the program did not translate a batch."""


class CommandTeacher:
    """A command that is run without a shell."""

    def __init__(self, config: TeacherConfig) -> None:
        self.config = config
        try:
            self.command = shlex.split(config.model)
        except ValueError as error:
            raise UserError(f"the command {config.model!r} cannot be read: {error}.") from None
        if not self.command:
            raise UserError("the teacher is an empty command; write it as command:PROGRAM ARGUMENTS.")
        if config.temperature is not None:
            raise UserError("a command samples by itself or not at all; leave temperature out.")
        self.failures = 0
        """Failed runs since the last one that went well."""

    def translate(self, lines: Sequence[str]) -> Iterator[Translations]:
        """As in `TextTeacher`; several translations of a line are separated by tabs."""
        size = self.config.command_lines
        for first in range(0, len(lines), size):
            answers = self._translate(list(lines[first : first + size]))
            yield dict(enumerate(answers, first))

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        """Refused."""
        raise UserError("a command has no scores; use another model for the backward score.")

    def _translate(self, lines: list[str]) -> list[list[ScoredText]]:
        try:
            answers = self._run(lines)
        except _BatchFailed as failure:
            self.failures += 1
            if self.failures > self.config.command_lines.bit_length() + RETRIES_BEYOND_HALVING:
                raise UserError(f"the teacher {self.config.model} {failure}, {self.failures} times in a row.") from None
            if len(lines) == 1:
                return [[]]
            half = len(lines) // 2
            return self._translate(lines[:half]) + self._translate(lines[half:])
        self.failures = 0
        return [self._texts(answer) for answer in answers]

    def _texts(self, answer: str) -> list[ScoredText]:
        if self.config.hypotheses == 1:
            return [ScoredText(answer.replace("\t", " "), None)]
        return [ScoredText(text, None) for text in answer.split("\t")[: self.config.hypotheses]]

    def _run(self, lines: list[str]) -> list[str]:
        """The answers of a run of the program, one for each line."""
        with tempfile.TemporaryFile() as errors:
            output, code = self._communicate("".join(f"{line}\n" for line in lines).encode(), errors)
            errors.seek(0)
            said = errors.read().decode("utf-8", errors="replace").strip()[-SHOWN_CHARACTERS:].replace("\n", " ")
        if code:
            raise _BatchFailed(f"ended with exit code {code}{f' ({said})' if said else ''}")
        try:
            answers = output.decode("utf-8").removesuffix("\n").split("\n")
        except UnicodeDecodeError:
            raise _BatchFailed("wrote something that is not UTF-8") from None
        if len(answers) != len(lines) or not output:
            raise _BatchFailed(f"wrote {len(answers) if output else 0:,} lines for {len(lines):,}")
        return [answer.removesuffix("\r") for answer in answers]

    def _communicate(self, text: bytes, errors: object) -> tuple[bytes, int]:
        try:
            # In a session of its own, so that all that it starts can be ended with it.
            process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,  # type: ignore[call-overload]
                start_new_session=True,
            )
        except OSError as error:
            raise UserError(f"the teacher {self.command[0]} cannot be started: {error.strerror}.") from None
        try:
            output, _ = process.communicate(text, timeout=self.config.command_seconds)
        except subprocess.TimeoutExpired:
            raise _BatchFailed(f"took more than {self.config.command_seconds:g} seconds") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()
        return output, process.returncode
