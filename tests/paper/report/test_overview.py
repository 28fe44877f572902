"""One page on all directions: verdicts and scores side by side, and what has no results yet."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from html import escape
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maskpredict.cli import app
from maskpredict.paper.report.claims import CLAIMS
from maskpredict.paper.report.thresholds import thresholds_table
from maskpredict.paper.table import markdown

MakeResults = Callable[..., Path]
DOCS = Path(__file__).parents[3] / "docs"


def report(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["report", *map(str, arguments)], catch_exceptions=False)
    return result.exit_code, result.stderr


def test_directions_stand_side_by_side(make_results: MakeResults, tmp_path: Path) -> None:
    root = tmp_path / "all"
    shutil.copytree(make_results(), root / "en-de")
    shutil.copytree(root / "en-de", root / "another")
    (root / "notes").mkdir()
    assert report(root) == (0, f"{root}/overview.html compares another, en-de.\n")
    page = (root / "overview.md").read_text()
    assert "| the paper says | measured | another | en-de |" in page
    row = "| Four passes translate far better than one. | T = 4 over T = 1 |"
    assert f"{row} no interval 7.89 BLEU | no interval 7.89 BLEU |" in page
    assert "| mask-predict | 10 | 27.03 | 27.03 |" in page
    assert "Without results so far: de to en, en to ro, ro to en, en to zh, zh to en." in page
    html = (root / "overview.html").read_text()
    assert [claim.name for claim in CLAIMS if escape(claim.says) not in html] == []


def test_a_report_is_written_again_under_its_title(make_results: MakeResults) -> None:
    folder = make_results()
    assert report(folder, "--title", "English & German")[0] == 0
    before = (folder / "report.html").read_bytes()
    assert report(folder)[0] == 0
    assert (folder / "report.html").read_bytes() == before
    assert (folder / "report.md").read_text().startswith("# English & German\n")


@pytest.mark.parametrize("name", ["empty", "nowhere"])
def test_a_folder_without_results_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    code, message = report(tmp_path / name)
    assert code == 2
    assert "run `maskpredict analyze` first" in message
    assert message.count("\n") == 1


def test_the_page_on_analysis_has_the_table_of_all_thresholds() -> None:
    assert markdown(thresholds_table()) in (DOCS / "analysis.md").read_text(encoding="utf-8")
