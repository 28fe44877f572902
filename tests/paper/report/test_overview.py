"""One page on all directions: verdicts and scores side by side, and what has no results yet."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maskpredict.cli import app
from maskpredict.paper.models import ModelFacts
from maskpredict.paper.report.claims import CLAIMS
from maskpredict.paper.report.claims_table import Origin, deciding
from maskpredict.paper.report.intervals import Interval, Kind
from maskpredict.paper.report.thresholds import thresholds_table
from maskpredict.paper.report.verdicts import Judgement, Verdict
from maskpredict.paper.table import markdown
from tests.paper.report.conftest import SETUP

MakeResults = Callable[..., Path]
DOCS = Path(__file__).parents[3] / "docs"


def report(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["report", *map(str, arguments)], catch_exceptions=False)
    return result.exit_code, result.stderr


def test_directions_stand_side_by_side(make_results: MakeResults, tmp_path: Path) -> None:
    root = tmp_path / "all"
    shutil.copytree(make_results(), root / "en-de")
    shutil.copytree(root / "en-de", root / "other-way")
    for path in (root / "other-way").glob("*.json"):
        change_setup(path, source_language="de", target_language="en")
    (root / "notes").mkdir()
    assert report(root) == (0, f"{root}/overview.html compares en-de, other-way.\n")
    page = (root / "overview.md").read_text()
    assert "| the paper says | measured | en to de | de to en |" in page
    row = "| Four passes translate far better than one. | T = 4 over T = 1 |"
    assert f"{row} no interval 7.89 BLEU † | no interval 7.89 BLEU † |" in page
    assert f"{row} 7.89 BLEU | WMT'14 EN-DE | 7.89 BLEU | – | 1 | no interval | 3,003 sentences, float32 on " in page
    assert f"{row} 8.07 BLEU | WMT'14 DE-EN | 7.89 BLEU | – | 1 | no interval | 3,003 sentences, float32 on " in page
    assert "| mask-predict | 10 | 27.03 | 27.03 |" in page
    assert page.count(f"Of {len(CLAIMS)} claims: no interval {len(CLAIMS) - 1}, not measured 1.") == 2
    assert "Without results so far: en to ro, ro to en, en to zh, zh to en." in page
    html = (root / "overview.html").read_text()
    assert [claim.name for claim in CLAIMS if escape(claim.says) not in html] == []


def change_setup(path: Path, **changes: object) -> None:
    content = json.loads(path.read_text())
    content["setup"] |= changes
    path.write_text(json.dumps(content))


def origin(interval: Interval | None = None, *, weights: str = "", sentences: int = 300) -> Origin:
    judgement = Judgement(CLAIMS[0], Verdict.holds, 5.0, None, "", interval=interval)
    models = (ModelFacts("model", "cmlm", "512/2048", 61_000_000, weights),)
    return Origin(judgement, replace(SETUP, models=models, sentences=sentences))


def test_of_several_results_of_a_direction_the_most_certain_decides() -> None:
    paired, summed = (Interval(4.0, 6.0, kind) for kind in (Kind.paired, Kind.sum))
    better_and_better = [
        Origin(Judgement(CLAIMS[0], Verdict.unknown, None, None, "")),
        origin(),
        origin(sentences=2000),
        origin(weights="crc32:c0ffee00"),
        origin(summed),
        origin(paired),
        origin(paired, weights="crc32:c0ffee00"),
        origin(paired, weights="crc32:c0ffee00", sentences=2000),
    ]
    for count, best in enumerate(better_and_better, 1):
        assert deciding(better_and_better[:count]) is best
        assert deciding(better_and_better[:count][::-1]) is best


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
