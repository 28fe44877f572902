"""`maskpredict translate` notices documents by their names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import docx
import pytest

from tests.documents.office_files import word_file


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "maskpredict.cli", "translate", "-m", "de-en-shallow", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_document_is_translated_into_one_of_the_same_format(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(word_file())
    done = run(tmp_path / "a.docx", "-o", tmp_path / "b.docx")
    assert (done.returncode, done.stderr) == (0, "")
    paragraphs = docx.Document(str(tmp_path / "b.docx")).paragraphs
    assert [run.text for run in paragraphs[1].runs if run.bold] == ["black dog"]
    assert [run.text for run in paragraphs[1].runs if run.italic] == ["garden"]


def test_words_keep_their_emphasis(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Plan\n\nWir gehen **morgen** schwimmen. Siehe `f(x)`.\n", encoding="utf-8")
    assert run(tmp_path / "a.md", "-o", tmp_path / "b.md", "--speed", "balanced").returncode == 0
    text = (tmp_path / "b.md").read_text(encoding="utf-8")
    assert "**tomorrow**" in text
    assert "`f(x)`" in text


def test_a_glossary_is_for_documents_too(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Der Bericht ist **lang**.\n", encoding="utf-8")
    (tmp_path / "terms.tsv").write_text("Bericht\tdossier\n", encoding="utf-8")
    assert run(tmp_path / "a.md", "-o", tmp_path / "b.md", "--glossary", tmp_path / "terms.tsv").returncode == 0
    assert (tmp_path / "b.md").read_text(encoding="utf-8") == "The dossier is **long**.\n"


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("a.docx", ["-o", "b.docx"], "damaged"),
        ("a.docx", [], "give one with -o"),
        ("a.docx", ["-o", "b.txt"], "formats are not converted"),
        ("a.html", ["-o", "b.html", "--pin", "x"], "for lines of text"),
        ("missing.docx", ["-o", "b.docx"], "cannot be read"),
        ("a.html", ["-o", "b.html", "--glossary", "missing.tsv"], "cannot be read"),
    ],
)
def test_mistakes_are_explained_and_nothing_is_written(
    tmp_path: Path, name: str, options: list[str], sentence: str
) -> None:
    for present in ("a.docx", "a.html"):
        (tmp_path / present).write_bytes(b"x")
    done = run(tmp_path / name, *(tmp_path / option if "." in option else option for option in options))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert not list(tmp_path.glob("b.*"))
