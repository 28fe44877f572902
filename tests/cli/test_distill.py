"""`maskpredict distill` on the command line: a file of settings, or options; by ids, or by text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from maskpredict.cli import app
from maskpredict.corpus.reading import read_lines


def distill(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["distill", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    path = tmp_path / "sources.de"
    path.write_text("eins\nzwei\n")
    return path


def test_options_and_a_file_of_settings_do_the_same(sources: Path, tmp_path: Path) -> None:
    options = ("--teacher", "command:rev", "--text", sources, "-s", "de", "-t", "en")
    done = distill(tmp_path / "by-options", *options)
    assert done.exit_code == 0, done.output
    (tmp_path / "distill.yaml").write_text(
        f"teacher: command:rev\ntext: [{{source: {sources}}}]\nsource_language: de\ntarget_language: en\n"
        f"out: {tmp_path}/by-file\n"
    )
    assert distill(tmp_path / "distill.yaml").exit_code == 0
    made = [list(read_lines(tmp_path / folder / "sources.en.zst")) for folder in ("by-options", "by-file")]
    assert made == [["snie", "iewz"]] * 2
    assert json.loads((tmp_path / "by-file" / "report.json").read_text())["teacher"] == "command:rev"


def test_references_belong_to_texts(sources: Path, tmp_path: Path) -> None:
    reference = tmp_path / "reference.en"
    reference.write_text("iewz\niewz\n")
    options = ("--teacher", "command:rev", "--text", sources, "-s", "de", "-t", "en", "choose=closest", "n=1")
    assert distill(tmp_path / "out", *options, "--reference", reference).exit_code == 0
    done = distill(tmp_path / "out-2", *options, "--reference", reference, "--reference", reference)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "give as many --reference as --text" in done.stderr


def test_a_file_of_settings_and_options_contradict_each_other(tmp_path: Path) -> None:
    (tmp_path / "distill.yaml").write_text("teacher: de-en-ar\n")
    done = distill(tmp_path / "distill.yaml", "--teacher", "command:cat")
    assert done.exit_code == 2
    assert "options contradict each other" in done.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--teacher", "ctranslate2:nowhere"), "nowhere has no model.bin, so it is no CTranslate2 folder"),
        (("--teacher", "transformers:./nowhere"), "there is no folder ./nowhere with a teacher"),
        (("--teacher", "command:rev", "bean_size=3"), "unknown key 'bean_size'; did you mean 'beam_size'?"),
        ((), "'teacher' is missing"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_nothing(
    sources: Path, tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    done = distill(tmp_path / "out", "--text", sources, "-s", "de", "-t", "en", *options)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert sentence in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sources.de"]
