"""Our paired tests are those of the sacreBLEU command line, p-values included."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from maskpredict.errors import UserError
from maskpredict.evaluate.significance import compare_systems


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("test", "options"),
    [
        ("bootstrap", ["--paired-bs", "--paired-bs-n", "300"]),
        ("randomization", ["--paired-ar", "--paired-ar-n", "300"]),
    ],
)
def test_p_values_are_sacrebleus(texts: Path, test: str, options: list[str]) -> None:
    names = ["good", "fair", "bad"]
    files = [str(texts / f"{name}.txt") for name in names]
    command = [sys.executable, "-m", "sacrebleu", str(texts / "ref.txt"), "-i", *files, *options]
    command += ["-m", "bleu", "chrf", "ter", "--chrf-word-order", "2", "-w", "4", "-f", "text", "--no-color"]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    printed = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, env=environment).stdout

    own = compare_systems(
        {name: lines(texts / f"{name}.txt") for name in names}, [lines(texts / "ref.txt")], test=test, samples=300
    )
    by_system = sorted(own.differences, key=lambda one: names.index(one.system))
    assert [f"{one.p_value:.4f}" for one in by_system] == re.findall(r"p = (\d\.\d{4})", printed)
    assert len({one.p_value for one in by_system}) > 2
    assert (own.baseline, own.test, own.samples) == ("good", test, 300)
    assert list(own.signatures.values()) == re.findall(r"^ - \S+ +(nrefs:\S+)$", printed, re.MULTILINE)


def test_both_kinds_of_bleu_are_compared(texts: Path) -> None:
    systems = {name: lines(texts / f"{name}.txt") for name in ("good", "bad")}
    own = compare_systems(systems, [lines(texts / "ref.txt")], metrics=["bleu", "tokenized_bleu"], samples=100)
    first, second = own.differences
    assert (first.metric, second.metric) == ("bleu", "tokenized_bleu")
    assert first.difference < -20
    assert first.difference != second.difference


def test_a_system_does_not_differ_from_itself(texts: Path) -> None:
    systems = {name: lines(texts / "good.txt") for name in ("one", "two")}
    (same,) = compare_systems(systems, [lines(texts / "ref.txt")], metrics=["bleu"], samples=100).differences
    assert same.difference == 0


@pytest.mark.parametrize(
    ("systems", "test", "sentence"),
    [
        ({"a": ["x"]}, "bootstrap", "two or more systems"),
        ({"a": ["x"], "b": ["x"]}, "guess", "no paired test 'guess'; choose bootstrap or randomization"),
        ({"a": ["x"], "b": ["x", "y"]}, "bootstrap", "2 translations and 1 references"),
    ],
)
def test_what_cannot_be_compared_gets_a_sentence(systems: dict[str, list[str]], test: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        compare_systems(systems, [["x"]], test=test)
