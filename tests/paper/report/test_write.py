"""The report: our numbers beside the paper's, every claim judged, one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from maskpredict.errors import UserError
from maskpredict.paper.analyses import ANALYSES
from maskpredict.paper.analyses.distillation import DistillationResult, DistillationRow
from maskpredict.paper.cell import Cell
from maskpredict.paper.report.claims import CLAIMS
from maskpredict.paper.report.comparison_table import with_paper_columns
from maskpredict.paper.report.write import write_report
from maskpredict.paper.table import Column, ResultTable

MakeResults = Callable[..., Path]


class Page(HTMLParser):
    """What a browser would see: text, pictures and everything that points elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.sources: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "img"):
            self.open.append(tag)
        for name, value in attrs:
            if name == "src":
                self.sources.append(value or "")
            elif name in ("href", "srcset", "action"):
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_report_names_every_analysis_and_every_claim(make_results: MakeResults) -> None:
    folder = make_results()
    write_report(folder, "English to German")
    markdown, page = (folder / "report.md").read_text(), Page((folder / "report.html").read_text())
    text = "".join(page.texts)
    assert markdown.startswith("# English to German\n")
    for wanted in (*(analysis.title for analysis in ANALYSES.values()), *(claim.says for claim in CLAIMS)):
        assert wanted in markdown
        assert wanted in text
    assert f"Of {len(CLAIMS)} claims: no interval {len(CLAIMS) - 1}, not measured 1." in markdown
    assert "3,003 sentences of test.news, en to de." in markdown
    assert "nrefs:1|case:mixed" in markdown
    assert markdown.count("This analysis was not run.") == len(ANALYSES) - 6


def test_the_report_says_which_sections_were_computed_otherwise(make_results: MakeResults) -> None:
    folder = make_results()
    path = folder / "speed_quality.json"
    content = json.loads(path.read_text())
    content["setup"] |= {"sentences": 1200, "compute_type": "int8"}
    path.write_text(json.dumps(content))
    write_report(folder, "English to German")
    markdown = (folder / "report.md").read_text()
    assert markdown.count("This section was computed") == 1
    assert "This section was computed on 1,200 sentences, in int8." in markdown
    assert markdown.index("## Speed") < markdown.index("This section was") < markdown.index("## Repetitions")


def test_the_html_is_whole_and_needs_no_network(make_results: MakeResults) -> None:
    folder = make_results()
    write_report(folder, "A & B")
    text = (folder / "report.html").read_text()
    page = Page(text)
    assert page.open == []
    assert page.links == []
    assert len(page.sources) == len(list(folder.glob("*.svg"))) == 5
    for source in page.sources:
        head, _, data = source.partition(",")
        assert head == "data:image/svg+xml;base64"
        assert b"<svg" in base64.b64decode(data)
    assert not re.search(r"<(script|link|iframe)|@import|url\(", text)
    assert "<title>A &amp; B</title>" in text


def test_pictures_of_the_markdown_are_files_beside_it(make_results: MakeResults) -> None:
    folder = make_results()
    write_report(folder, "Title")
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", (folder / "report.md").read_text())
    assert pictures
    assert all((folder / picture).exists() for picture in pictures)


def test_our_numbers_stand_beside_the_papers(make_results: MakeResults) -> None:
    rows = tuple(DistillationRow(passes, Cell(float(passes)), Cell(reason="it rained.")) for passes in (1, 4, 10))
    folder = make_results({"distillation": DistillationResult(rows)})
    write_report(folder, "Title")
    markdown = (folder / "report.md").read_text()
    assert "| passes T | raw | raw, WMT'14 EN-DE | distilled | distilled, WMT'14 EN-DE |" in markdown
    assert "| 4 | 4.00 | 22.25 | – (1) | 25.94 |" in markdown
    assert "(1) it rained." in markdown
    assert "With one pass, raw training text is far worse than distilled. Not measured: it rained." in markdown


def test_the_report_says_how_its_numbers_are_made_again_and_how_its_models_were_made(make_results: MakeResults) -> None:
    folder = make_results()
    command = "maskpredict analyze mine out --data test-data --compare 'a=b & c'"
    for path in folder.glob("*.json"):
        content = json.loads(path.read_text())
        content["setup"] |= {"command": command}
        path.write_text(json.dumps(content))
    made = {"data": "maskpredict prepare test-data < all", "notes": ["It rained.", "The teacher is small."]}
    (folder / "made.json").write_text(json.dumps(made))
    write_report(folder, "Title")
    markdown = (folder / "report.md").read_text()
    assert "```text\nmaskpredict prepare test-data < all\n```" in markdown
    assert "- It rained.\n- The teacher is small." in markdown
    measured = "Measured with 3,003 sentences, float32 on cpu (1 thread), weights not recorded by:"
    for name in ("main_table", "repetitions", "distillation"):
        assert f"{measured}\n\n```text\n{command} --only {name}\n```" in markdown
    page = Page((folder / "report.html").read_text())
    assert "maskpredict prepare test-data < all" in page.texts
    assert f"{command} --only repetitions" in page.texts


def test_scores_on_all_test_sets_are_shown_where_a_recipe_leaves_them(make_results: MakeResults) -> None:
    folder = make_results()
    scores = [
        {"system": "teacher", "settings": {"beam_size": 5}, "split": split, "bleu": bleu}
        | {"also": {"ro-no-diacritics": {"bleu": bleu + 1}}}
        for split, bleu in (("test.news", 20.5), ("test.talks", 31.25))
    ]
    (folder / "scores.json").write_text(json.dumps(scores))
    write_report(folder, "Title")
    markdown = (folder / "report.md").read_text()
    assert "| system | news | talks |" in markdown
    assert "| teacher, beam_size 5 | 20.50 | 31.25 |" in markdown
    assert "| teacher, beam_size 5, ro-no-diacritics | 21.50 | 32.25 |" in markdown


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no results; run `maskpredict analyze` first"):
        write_report(tmp_path, "Title")


def test_rows_are_matched_by_their_keys_and_empty_columns_left_out() -> None:
    columns = (Column("name", key=True), Column("size"), Column("a"), Column("b"))
    ours = ResultTable(columns, (("x", "1", Cell(1.0), Cell(2.0)), ("y", "2", Cell(3.0), Cell(4.0))))
    paper = ResultTable(columns, (("y", "?", Cell(30.0), Cell()), ("z", "?", Cell(50.0), Cell())))
    found = with_paper_columns(ours, paper, "P")
    assert [column.title for column in found.columns] == ["name", "size", "a", "a, P", "b"]
    assert found.rows == (("x", "1", Cell(1.0), Cell(), Cell(2.0)), ("y", "2", Cell(3.0), Cell(30.0), Cell(4.0)))


def test_the_page_about_analysis_names_every_analysis_and_counts_the_claims() -> None:
    page = (Path(__file__).parents[3] / "docs" / "analysis.md").read_text(encoding="utf-8")
    assert [name for name in ANALYSES if f"| `{name}` |" not in page] == []
    assert f"takes {len(CLAIMS)} claims of the paper" in page
