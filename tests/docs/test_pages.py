"""The pages hang together: links lead somewhere, nothing a user meets is left out, and the picture is the program's."""

from __future__ import annotations

import re
import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import maskpredict
from maskpredict.cli import app
from maskpredict.decoding.strategies import STRATEGIES
from maskpredict.model.config import PRESETS
from maskpredict.systems import SYSTEMS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
LAB = sorted((ROOT / "docs" / "lab").glob("*.md"))
IMAGES = ROOT / "docs" / "images"
PICTURES = [IMAGES / "iterations.svg", IMAGES / "speed-quality.svg"]
MOST_BYTES = 60_000
README_LINES = 150

_LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """Fragments that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.+)$", read(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, *LAB], ids=[page.stem for page in PAGES + LAB])
def test_links_within_the_repository_lead_somewhere(page: Path) -> None:
    broken = []
    for link in (first or second for first, second in _LINK.findall(read(page))):
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if "://" in link:
            continue
        if not target.exists() or (fragment and fragment not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_the_readme_leads_to_every_page() -> None:
    linked = {first or second for first, second in _LINK.findall(read(ROOT / "README.md"))}
    assert {str(page.relative_to(ROOT)) for page in PAGES} - {"README.md"} <= linked


def test_the_lab_has_a_list_of_its_notes() -> None:
    index = ROOT / "docs" / "lab" / "README.md"
    assert "docs/lab/README.md" in read(ROOT / "README.md")
    assert {page.name for page in LAB} - {index.name} <= {first for first, _ in _LINK.findall(read(index))}


def test_the_readme_is_short() -> None:
    assert len(read(ROOT / "README.md").splitlines()) <= README_LINES


def test_a_page_names_every_verb() -> None:
    verbs = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    assert {verb for verb in verbs if f"`{verb}`" not in read(ROOT / "docs" / "cli.md")} == set()


@pytest.mark.parametrize(
    ("page", "names"),
    [("decoding.md", STRATEGIES), ("training.md", PRESETS), ("training.md", SYSTEMS)],
    ids=["strategies", "presets", "systems"],
)
def test_a_page_names_all_there_is_to_choose_from(page: str, names: dict[str, object]) -> None:
    assert {name for name in names if f"`{name}`" not in read(ROOT / "docs" / page)} == set()


def test_the_changelog_speaks_of_this_version() -> None:
    assert f"## [{maskpredict.__version__}]" in read(ROOT / "CHANGELOG.md")


def test_the_pages_speak_of_no_files_that_are_not_there() -> None:
    named = re.compile(r"`((?:src|tests|docs)/[\w./-]+|(?:\w+/)+\w+\.(?:py|yaml))`")
    homes = (ROOT, ROOT / "src" / "maskpredict", ROOT / "tests")
    missing = [
        f"{page.name}: {path}"
        for page in PAGES
        for path in named.findall(read(page))
        if not any((home / path).exists() for home in homes)
    ]
    assert missing == []


@pytest.mark.parametrize("picture", PICTURES, ids=[picture.stem for picture in PICTURES])
def test_the_picture_is_small_and_asks_nothing_of_the_network(picture: Path) -> None:
    assert picture.stat().st_size < MOST_BYTES
    drawn = ET.parse(picture)
    assert drawn.getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert re.findall(r"https?://(?!www\.w3\.org/)\S+", read(picture)) == []


def test_every_picture_is_on_a_page() -> None:
    shown = {
        (page.parent / (first or second)).resolve()
        for page in [*PAGES, *LAB]
        for first, second in _LINK.findall(read(page))
    }
    assert {path.name for path in IMAGES.iterdir() if path.suffix in (".svg", ".png") and path not in shown} == set()


def test_the_picture_shows_what_the_shipped_model_does(tmp_path: Path) -> None:
    made = runpy.run_path(str(IMAGES / "make_iterations.py"))
    made["make"]("de-en", made["SENTENCE"], tmp_path / "made.svg")
    drawn, shown = (read(path) for path in (tmp_path / "made.svg", IMAGES / "iterations.svg"))
    assert "Fluss" in shown
    assert re.findall(r">([^<]+)</text>", drawn) == re.findall(r">([^<]+)</text>", shown)


def test_the_plot_shows_what_the_files_hold() -> None:
    made = runpy.run_path(str(IMAGES / "make_speed_quality.py"))
    assert made["draw"]() == read(IMAGES / "speed-quality.svg")
