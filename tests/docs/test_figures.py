"""Every number that a page claims to have measured is in a file, as printed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from maskpredict.model.folder import ModelFolder
from maskpredict.model.stored_weights import parameter_count

from .figures import FigureError, blocks, check, is_rounded

ROOT = Path(__file__).parents[2]
COMPLETE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
"""Pages on which every measurement must have a comment that names its file."""
PAGES = [*COMPLETE, *sorted((ROOT / "docs" / "lab").glob("*.md"))]
CARDS = sorted([*(ROOT / "src" / "maskpredict" / "models").glob("*/README.md"), *(ROOT / "models").glob("*/README.md")])
"""Model cards, whose scores must come from files, too."""
LAB = [page for page in PAGES if page.parent.name == "lab" and page.stem != "README"]
NO_FILE = "no file kept"


@pytest.mark.parametrize("page", [*PAGES, *CARDS], ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_figures_are_those_of_the_files_that_the_page_names(page: Path) -> None:
    for block in blocks(page):
        check(block, ROOT)


@pytest.mark.parametrize("page", COMPLETE, ids=[page.stem for page in COMPLETE])
def test_every_measurement_on_the_page_names_its_file(page: Path) -> None:
    unnamed = [f"{b.place} {b.text[:60]}" for b in blocks(page) if b.looks_measured and b.comment is None]
    assert unnamed == []


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.parent.name)
def test_the_scores_of_a_model_card_name_their_file(card: Path) -> None:
    tables = [block for block in blocks(card) if block.is_table]
    assert tables
    assert [f"{b.place} {b.text[:60]}" for b in tables if b.comment in (None, "none")] == []


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.parent.name)
def test_the_number_of_parameters_in_a_model_card_is_that_of_the_weights(card: Path) -> None:
    (written,) = re.findall(r"with ([\d.]+) M parameters", card.read_text(encoding="utf-8"))
    assert is_rounded(written, parameter_count(ModelFolder.read(card.parent).weights) / 1e6)


@pytest.mark.parametrize("page", LAB, ids=[page.stem for page in LAB])
def test_a_page_of_the_lab_has_a_date_and_says_which_figures_have_no_file(page: Path) -> None:
    assert re.match(r"\d{4}-\d\d-\d\d-", page.name)
    if any(block.looks_measured and block.comment is None for block in blocks(page)):
        assert NO_FILE in page.read_text(encoding="utf-8")


def write_page(folder: Path, block: str, comment: str) -> Path:
    (folder / "kept").mkdir(exist_ok=True)
    runs = [
        {"name": "a", "settings": {"passes": 4}, "bleu": 28.26, "share": 0.172},
        {"name": "b", "settings": {"passes": 4}, "bleu": 30.44, "share": 0.05},
        {"name": "b", "settings": {"passes": 4, "weight": 0.02}, "bleu": 29.0, "share": None},
    ]
    (folder / "kept" / "runs.json").write_text(json.dumps({"runs": runs, "rate": 9180}), encoding="utf-8")
    (folder / "kept" / "report.md").write_text("Of 24 claims, 20 hold, or 83.3%.\n", encoding="utf-8")
    page = folder / "page.md"
    page.write_text(f"# Page\n\n<!-- figures: kept/runs.json\n{comment}\n-->\n\n{block}\n", encoding="utf-8")
    return page


TABLE = "| model | BLEU |\n|---|---:|\n| a, T=4 | {} |\n| b | {} |"
TABLE_COMMENT = "runs name={a,b} !settings.weight bleu"
RIGHT = [
    (TABLE.format("28.3", "30.4"), TABLE_COMMENT),
    (TABLE.format("28.26", "30"), TABLE_COMMENT),
    ("It gains 2.2 BLEU in 4 passes.", "runs name=b !settings.weight bleu - runs name=a bleu\nsettings: 4"),
    ("Of words, 17.2% repeat.", "runs name=a share"),
    ("- 9,200 a second,\n- 0.11 ms each", "rate\n1000 / rate"),
    (
        "With a weight, 29.0; of 24 claims 20 hold.",
        'runs settings.weight=0.02 bleu\nkept/report.md "(\\d+) claims, (\\d+)"',
    ),
    ("83% hold", "kept/report.md '([\\d.]+)%'"),
    ("28.3", "runs\n  name~=a\n  bleu"),
]
WRONG = [
    (TABLE.format("28.4", "30.4"), TABLE_COMMENT),
    (TABLE.format("30.4", "28.3"), TABLE_COMMENT),
    (TABLE.format("28.3", ""), TABLE_COMMENT),
    ("It gains 2.3 BLEU.", "runs name=b !settings.weight bleu - runs name=a bleu"),
    ("It gains -2.3 BLEU.", "runs name=a bleu - runs name=b !settings.weight bleu"),
    ("It gains 2.2 BLEU in 4 passes.", "runs name=b !settings.weight bleu - runs name=a bleu"),
    ("It gains much.", "runs name=a bleu"),
    ("30.4 against 28.3", TABLE_COMMENT),
    ("Of words, 18.2% repeat.", "runs name=a share"),
    ("9,300 a second", "rate"),
    ("30.4", "runs name=b bleu"),
    ("28.3", "runs name=c bleu"),
    ("28.3", "runs name=a chrf"),
    ("28.3", "kept/other.json runs name=a bleu"),
    ("of 25 claims 20 hold.", 'kept/report.md "(\\d+) claims, (\\d+)"'),
]


@pytest.mark.parametrize(("block", "comment"), RIGHT)
def test_numbers_as_in_the_file_pass(block: str, comment: str, tmp_path: Path) -> None:
    (found,) = blocks(write_page(tmp_path, block, comment))
    assert found.comment is not None
    check(found, tmp_path)


@pytest.mark.parametrize(("block", "comment"), WRONG)
def test_numbers_that_are_not_in_the_file_are_noticed(block: str, comment: str, tmp_path: Path) -> None:
    (found,) = blocks(write_page(tmp_path, block, comment))
    with pytest.raises(FigureError):
        check(found, tmp_path)


def test_every_figure_of_the_readme_is_guarded(tmp_path: Path) -> None:
    """Changing the last digit of any one number in a marked table of the README is noticed."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    tables = [block for block in blocks(ROOT / "README.md") if block.is_table and block.comment not in (None, "none")]
    assert tables
    for table in tables:
        for number in re.finditer(r"(?<=\| )\d+\.\d(?= \|)", table.text):
            changed = f"{float(number[0]) + 0.1:.1f}"
            edited = table.text[: number.start()] + changed + table.text[number.end() :]
            page = tmp_path / "README.md"
            page.write_text(text.replace(table.text, edited), encoding="utf-8")
            (edited_block,) = (block for block in blocks(page) if block.text == edited)
            with pytest.raises(FigureError):
                check(edited_block, ROOT)


@pytest.mark.parametrize(
    ("block", "measured"),
    [
        ("It has 28.3 points.", True),
        ("It takes 12 ms.", True),
        ("It takes 3 of 4 cores.", False),
        ("It has 17% of them.", True),
        ("`--threshold 0.9` and T=0.5, since version 0.1.0.", False),
        ("| a | b |\n|---|---|\n| 0.5 | 28.3 |", True),
        ("| a | b |\n|---|---|\n| 0.5 | with 28.3 |", False),
    ],
)
def test_measurements_are_told_from_other_numbers(block: str, measured: bool, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# 1.5 times\n\n```text\n2.5 BLEU\n```\n\n{block}\n", encoding="utf-8")
    (found,) = blocks(page)
    assert found.looks_measured == measured


def test_numbers_are_rounded_as_they_are_printed() -> None:
    assert is_rounded("28.3", 28.26)
    assert is_rounded("28.3", 28.25)
    assert not is_rounded("28.3", 28.24)
    assert is_rounded("9,200", 9180)
    assert not is_rounded("9,200", 9140)
    assert is_rounded("10", 10.4)
    assert not is_rounded("10", 11)
    assert not is_rounded("100", 90)
