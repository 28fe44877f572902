"""`maskpredict bench --distillation`: what distillation by text takes beyond that by ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from maskpredict.bench.distillation_result import Run, overheads, ways
from maskpredict.cli import app


def race(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["bench", "--distillation", *map(str, arguments)], catch_exceptions=False)


def test_both_ways_are_timed_on_the_same_sentences(
    autoregressive_folder: Path, toy_files: Path, tmp_path: Path
) -> None:
    options = ("--source", toy_files / "test.xx", "--sentences", 8, "--beams", "1,3", "--rounds", 2, "--threads", 1)
    done = race("--teacher", autoregressive_folder, *options, "--device", "cpu", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert done.stdout == (tmp_path / "out" / "bench.md").read_text()
    assert "| by text | 3 |" in done.stdout
    assert "- With 1 beam, by text takes " in done.stdout
    record = json.loads((tmp_path / "out" / "bench.json").read_text())
    assert record["workload"]["sentences"] == 8
    order = [(run["round"], run["beam_size"], run["way"]) for run in record["runs"]]
    assert order == [
        *[(1, 1, "by ids"), (1, 1, "by text"), (1, 3, "by ids"), (1, 3, "by text")],
        *[(2, 1, "by text"), (2, 1, "by ids"), (2, 3, "by text"), (2, 3, "by ids")],
    ]
    assert all(run["seconds"] > 0 and run["cpu_seconds"] > 0 for run in record["runs"])
    again = race("--teacher", autoregressive_folder, *options, "-o", tmp_path / "out")
    assert (again.exit_code, again.stdout) == (2, "")
    assert "holds an earlier race" in again.stderr


def test_the_overhead_is_taken_within_each_round() -> None:
    runs = [
        *(Run(1, "by ids", 5, 10.0, 20.0), Run(1, "by text", 5, 11.0, 20.4)),
        *(Run(2, "by text", 5, 44.0, 40.4), Run(2, "by ids", 5, 40.0, 40.0)),
        *(Run(3, "by ids", 5, 10.0, 20.0), Run(3, "by text", 5, 11.0, 20.6)),
    ]
    (overhead,) = overheads(runs)
    assert overhead.seconds.median == pytest.approx(0.1)
    assert overhead.cpu_seconds.median == pytest.approx(0.02)
    by_ids, by_text = ways(runs, sentences=22)
    assert (by_ids.way, by_ids.sentences_per_second.median) == ("by ids", 2.2)
    assert (by_text.way, by_text.cpu_seconds.median) == ("by text", 20.6)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "name a teacher of ours with --teacher"),
        (("--teacher", "CMLM"), "is a cmlm model; give an autoregressive one"),
        (("--teacher", "ctranslate2:opus-mt"), "there is no model folder ctranslate2:opus-mt"),
        (("--teacher", "AR", "--peers", "ctranslate2"), "--peers has no effect with --distillation; leave it out"),
        (("--teacher", "AR", "--quick"), "--quick has no effect with --distillation; leave it out"),
        (("--teacher", "AR", "--rounds", "0"), "rounds is 0; use 1 or more"),
        (("--teacher", "AR", "--beams", ""), "a race of distillations needs a beam size"),
        (("--teacher", "AR", "--beams", "0,5"), "a race needs beam sizes of 1 or more"),
        (("--teacher", "AR"), "the built-in sentences are German and English"),
        (("--teacher", "AR", "--source", "nowhere.xx"), "nowhere.xx"),
    ],
)
def test_a_mistake_is_one_sentence(
    cmlm_folder: Path, autoregressive_folder: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    folders = {"CMLM": cmlm_folder, "AR": autoregressive_folder}
    done = race(*(folders.get(argument, argument) for argument in arguments))
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert sentence in done.stderr
