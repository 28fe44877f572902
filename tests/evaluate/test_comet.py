"""Scores from an outside program."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from maskpredict.errors import UserError
from maskpredict.evaluate.comet import comet_score

PROGRAM = """
import sys
source, hypothesis, reference = (open(path, encoding="utf-8").read().split("\\n") for path in sys.argv[1:])
print("loading a model")
same = sum(one == other for one, other in zip(hypothesis[:-1], reference[:-1]))
print(f"{sys.argv[2]}\\tscore: {same / len(source[:-1]):.4f}\\n")
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    """A command that reads three files and ends in the share of equal lines, in COMET's manner."""
    path = tmp_path / "outside program.py"
    path.write_text(PROGRAM)
    return f"{sys.executable} '{path}' {{source}} {{hypothesis}} {{reference}}"


def test_the_score_is_the_number_at_the_end_of_the_last_line(program: str) -> None:
    found = comet_score(program, ["ü b", "c", "d"], ["ü b", "x", "d"], ["A", "B", "C"])
    assert (found.title, found.score, found.signature) == ("COMET", 0.6667, f"command:{program}")


def test_no_shell_touches_the_command() -> None:
    assert comet_score("echo {hypothesis} ; echo $HOME * 3", ["a"], ["a"]).score == 3


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("no-such-program {hypothesis}", "cannot be run: No such file or directory"),
        ("sh -c 'echo early; echo no GPU >&2; exit 3' {hypothesis}", "ended with code 3; its last line: no GPU"),
        ("sh -c 'echo only this; exit 1' {hypothesis}", "ended with code 1; its last line: only this"),
        ("sh -c 'exit 4' {hypothesis}", "ended with code 4; its last line: nothing"),
        ("echo {hypothesis} none", "did not end in a number; its last line: .* none"),
        ("echo {hypothesis} nan", "did not end in a number"),
        ("true {hypothesis}", "did not end in a number; its last line: nothing"),
        ("comet-score -s {source} -t {hypothesis}", "sources, which are not known"),
        ("comet-score -t out.txt", "put {hypothesis} where"),
        ("comet-score -t {hypothesis} {model}", "cannot be read; it may have {source}, {hypothesis}, {reference}"),
        ("comet-score 'half {hypothesis}", "cannot be read"),
    ],
)
def test_a_command_that_fails_gets_a_sentence(command: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        comet_score(command, ["a"], ["a"])


def test_files_hold_one_line_for_each_text_in_utf8(tmp_path: Path) -> None:
    (tmp_path / "size.py").write_text("import os, sys; print(os.path.getsize(sys.argv[1]))")
    command = f"{sys.executable} {tmp_path / 'size.py'} {{hypothesis}}"
    assert comet_score(command, ["ü b", "c"], ["a", "a"]).score == len("ü b\nc\n".encode())


def test_a_program_that_prints_other_bytes_than_utf8_is_understood() -> None:
    assert comet_score(r"printf '\377 0.5\n' {hypothesis}", ["a"], ["a"]).score == 0.5


def test_the_score_is_called_comet(program: str) -> None:
    assert comet_score(program, ["a"], ["a"], ["a"]).metric == "comet"


@pytest.mark.parametrize("command", ["no-such-program {hypothesis}", "false {hypothesis}", "true '{hypothesis}"])
def test_the_command_is_quoted_as_it_was_given(command: str) -> None:
    with pytest.raises(UserError, match=re.escape(f"the COMET command {command!r} ")):
        comet_score(command, ["a"], ["a"])
