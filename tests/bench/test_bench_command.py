"""`maskpredict bench` as its users meet it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maskpredict.cli import app

SECONDS_TO_WAIT = 120


@pytest.fixture
def race(cmlm_folder: Path, autoregressive_folder: Path, toy_files: Path) -> list[str]:
    """A short race of a few racers."""
    return [
        "bench", "--model", str(cmlm_folder), "--teacher", str(autoregressive_folder), "--device", "cpu",
        "--source", str(toy_files / "test.xx"), "--reference", str(toy_files / "test.yy"), "--threads", "1",
        "--passes", "4:1", "--speeds", "", "--beams", "1", "--compute-types", "float32", "--peers", "ctranslate2",
        "--batch-sizes", "1,8", "--sentences", "8", "--rounds", "2",
    ]  # fmt: skip


def fails(*arguments: str) -> str:
    """Runs the verb, which must end with code 2 and one sentence."""
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    *_, last = result.stderr.splitlines()
    assert last.startswith("error: ")
    return last


def test_the_table_goes_to_standard_output_and_all_files_into_the_folder(race: list[str], tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [*race, "--output", str(tmp_path / "out")], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert result.stdout == (tmp_path / "out" / "bench.md").read_text()
    assert "| `mask-predict-t4-l1-float32` |" in result.stdout
    assert "Racing: 12" in result.stderr
    record = json.loads((tmp_path / "out" / "bench.json").read_text())
    assert [racer["entry"]["name"] for racer in record["racers"]] == [
        "mask-predict-t4-l1-float32", "ar-b1-float32", "ctranslate2-b1-float32",
    ]  # fmt: skip
    assert "holds an earlier race" in fails(*race, "--output", str(tmp_path / "out"))


def test_a_quick_race_takes_fewer_of_everything_but_what_is_asked_for(race: list[str], tmp_path: Path) -> None:
    start = race.index("--passes")
    result = CliRunner().invoke(
        app, [*race[:start], "--quick", "--speeds", "", "--rounds", "1", "-o", str(tmp_path)], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    config = json.loads((tmp_path / "bench.json").read_text())["config"]
    assert config["compute_types"] == ["int8"]
    assert config["passes"] == [{"iterations": 4, "length_candidates": 1}]
    assert config["sentences"] == 6
    assert config["rounds"] == 1
    assert config["seconds"] < 60


def test_baselines_can_be_chosen(race: list[str], tmp_path: Path) -> None:
    baseline = ["--baseline", "mask-predict-t4-l1-float32", "-o", str(tmp_path)]
    assert CliRunner().invoke(app, [*race, *baseline], catch_exceptions=False).exit_code == 0
    ratios = json.loads((tmp_path / "bench.json").read_text())["ratios"]
    assert {ratio["baseline"] for ratio in ratios} == {"mask-predict-t4-l1-float32"}
    assert {ratio["racer"] for ratio in ratios} == {"ar-b1-float32", "ctranslate2-b1-float32"}


@pytest.mark.parametrize(
    ("added", "sentence"),
    [
        (["--passes", "four"], "--passes cannot be 'four'"),
        (["--beams", "1,x"], "--beams cannot be '1,x'"),
        (["--baseline", "marian"], "there is no racer marian to be a baseline"),
        (["--split", "test"], "give the folder with --data"),
        (["--data", "data"], "give --data, or --source and --reference"),
        (["--device", "abacus"], "the device 'abacus' cannot be used here"),
        (["--engine", "abacus"], "there is no engine 'abacus'"),
        (["--rounds", "0"], "rounds is 0; use 1 or more"),
    ],
)
def test_mistakes_get_one_sentence(race: list[str], added: list[str], sentence: str) -> None:
    assert sentence in fails(*race, *added)


def test_the_built_in_sentences_are_for_german_and_english_alone(cmlm_folder: Path) -> None:
    assert "the built-in sentences are German and English" in fails("bench", "--model", str(cmlm_folder), "--quick")


def test_interrupted_it_keeps_what_was_measured(race: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "maskpredict.cli", *race, "--rounds", "1000000", "-o", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + SECONDS_TO_WAIT
    while not (tmp_path / "bench.json").exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=SECONDS_TO_WAIT)
    assert process.returncode == 130, stderr
    assert "ended before its time" in stdout
    record = json.loads((tmp_path / "bench.json").read_text())
    assert record["interrupted"]
    assert len(record["heats"]) >= 6
    assert (tmp_path / "throughput.svg").exists()
