"""How fast and in which numbers, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maskpredict import Translator
from maskpredict.cli import app

SOURCE = "luri tisa bane.\nkoke.\n"


def run(*arguments: object, code: int = 0, input: str = SOURCE) -> str:
    """What a command writes, or the sentence on stderr that it ends with."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=input, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.stderr if code else result.stdout


def test_speed_and_compute_type_reach_the_translator(cmlm_folder: Path) -> None:
    options = ("--format", "jsonl", "--speed", "best", "--compute-type", "int8", "--iterations", 3)
    lines = run("translate", "-m", cmlm_folder, *options).splitlines()
    translator = Translator(cmlm_folder, compute_type="int8")
    expected = translator.translate(SOURCE.splitlines(), speed="best", iterations=3)
    assert [json.loads(line)["score"] for line in lines] == [translation.score for translation in expected]


def test_candidates_can_be_pruned(cmlm_folder: Path) -> None:
    options = ("--length-candidates", 4, "--iterations", 3, "--prune-candidates", 1, "--format", "trace")
    for line in run("translate", "-m", cmlm_folder, *options).splitlines():
        passes = [len(candidate["passes"]) for candidate in json.loads(line)["trace"]["candidates"]]
        assert sorted(passes) == [1] * (len(passes) - 1) + [3]


def test_fill_and_score_compute_in_eight_bits_too(cmlm_folder: Path) -> None:
    pair = "luri tisa.\tIRUL ___.\n"
    filled = run("fill", "-m", cmlm_folder, "--compute-type", "int8", "--speed", "fast", input=pair)
    assert filled.startswith("IRUL")
    scored = run("score", "-m", cmlm_folder, "--compute-type", "int8", input=f"luri tisa.\t{filled}")
    assert float(scored) < 0


def test_evaluate_says_what_was_computed_in(cmlm_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "source").write_text(SOURCE)
    (tmp_path / "reference").write_text("IRUL ASIT ENAB.\nEKOK.\n")
    files = ("--source", tmp_path / "source", "--reference", tmp_path / "reference")
    options = ("--compute-type", "int8", "--confidence", 0, "--format", "json")
    report = run("evaluate", "-m", f"{cmlm_folder},speed=fast", *files, *options)
    (system,) = json.loads(report)["sets"][0]["systems"]
    assert system["origin"]["compute_type"] == "int8"
    assert system["origin"]["settings"]["iterations"] == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--speed", "furious"], "speed is 'furious'; choose one of fast, balanced, best."),
        (["--compute-type", "int3"], "compute_type is 'int3'; choose one of auto, float32"),
        (["--prune-candidates", "0"], "prune_candidates is 0"),
    ],
)
def test_an_impossible_wish_gets_one_sentence(cmlm_folder: Path, options: list[str], sentence: str) -> None:
    message = run("translate", "-m", cmlm_folder, *options, code=2)
    assert sentence in message
    assert message.count("\n") == 1
