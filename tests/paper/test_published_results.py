"""The tables and the report in results/ are what the code writes from the numbers in results/."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from maskpredict.paper.analyses import ANALYSES
from maskpredict.paper.finding import read_finding, write_finding
from maskpredict.paper.report.overview import OVERVIEW_FILES, write_overview
from maskpredict.paper.report.provenance import made
from maskpredict.paper.report.write import title_of, write_report

RESULTS = Path(__file__).parents[2] / "results"
ANALYSED = [path.parent for path in sorted(RESULTS.glob("*/report.md"))]
KEPT = [(folder, name) for folder in ANALYSED for name in ANALYSES if (folder / f"{name}.json").exists()]


def test_there_are_results() -> None:
    assert "de-en" in [folder.name for folder in ANALYSED]
    assert len(KEPT) >= 12


@pytest.mark.parametrize(("folder", "name"), KEPT, ids=lambda value: getattr(value, "name", value))
def test_the_table_of_each_analysis_comes_from_its_numbers(folder: Path, name: str, tmp_path: Path) -> None:
    finding = read_finding(folder, ANALYSES[name])
    assert finding is not None
    write_finding(tmp_path, replace(finding, analysis=replace(ANALYSES[name], draw=None)))
    assert (tmp_path / f"{name}.md").read_text("utf-8") == (folder / f"{name}.md").read_text("utf-8")
    assert read_finding(tmp_path, ANALYSES[name]) == finding


@pytest.mark.parametrize("results", ANALYSED, ids=lambda folder: folder.name)
def test_the_report_comes_from_the_results(results: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(results, tmp_path / "results"))
    published = {name: (folder / name).read_bytes() for name in ("report.md", "report.html")}
    write_report(folder, title_of(folder))
    assert {name: (folder / name).read_bytes() for name in published} == published


@pytest.mark.parametrize("results", ANALYSED, ids=lambda folder: folder.name)
def test_the_commands_of_a_report_use_the_test_set_that_its_first_command_prepares(results: Path) -> None:
    prepared = made(results).get("data", "")
    commands = [read_finding(results, ANALYSES[name]) for folder, name in KEPT if folder == results]
    for finding in commands:
        assert finding is not None
        if not finding.setup.command:
            continue  # older results name the command of their recipe
        words = shlex.split(finding.setup.command)
        data, split = (words[words.index(option) + 1] for option in ("--data", "--split"))
        tests = shlex.split(prepared[prepared.index("maskpredict prepare") :])
        assert tests[2] == data
        names = [Path(tests[place + 1]).name.partition(".")[0] for place, word in enumerate(tests) if word == "--test"]
        assert len(names) > 1, "a single test set has no name of its own"
        assert split.removeprefix("test.") in names
        assert words[3] == f"results/{results.name}"


def test_the_page_on_all_directions_comes_from_the_results(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(RESULTS, tmp_path / "results"))
    published = {name: (folder / name).read_bytes() for name in OVERVIEW_FILES}
    write_overview(folder)
    assert {name: (folder / name).read_bytes() for name in published} == published
