"""`maskpredict models`: what is listed, and how."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from maskpredict.cli import app
from maskpredict.runtime.find_model import CHECKOUT, SHIPPED, checkout_models, find_model, shipped_models


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache without downloaded models, and a current folder without any."""
    monkeypatch.setenv("MASKPREDICT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "current").mkdir()
    monkeypatch.chdir(tmp_path / "current")


def models(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["models", *map(str, arguments)])


def as_json(*arguments: object) -> dict[str, dict[str, object]]:
    result = models("--json", *arguments)
    assert result.exit_code == 0, result.output
    return {model["name"]: model for model in json.loads(result.stdout)}


def test_models_of_the_package_and_of_the_checkout_are_found_by_the_names_that_are_listed() -> None:
    listed = as_json()
    by_place = {place: {name for name, model in listed.items() if model["place"] == place} for place in PLACES}
    assert by_place["package"] >= {"de-en-shallow", "en-de"}
    assert by_place["checkout"] == {path.name for path in CHECKOUT.iterdir()}
    assert by_place["hub"] == by_place["folder"] == set()
    for name, model in listed.items():
        assert model["folder"] == str(find_model(name))


PLACES = ("package", "checkout", "hub", "folder")


def test_a_model_is_described_without_being_loaded() -> None:
    shallow = as_json()["de-en-shallow"]
    files = sum(file.stat().st_size for file in (SHIPPED / "de-en-shallow").iterdir())
    assert (shallow["system"], shallow["languages"], shallow["size"]) == ("cmlm", ["de", "en"], files)
    assert shallow["problem"] == ""


@pytest.mark.parametrize("name", [*shipped_models(), *checkout_models()])
def test_a_shipped_model_is_listed_with_scores_of_its_card(name: str) -> None:
    bleu = as_json()[name]["bleu"]
    assert isinstance(bleu, dict)
    cells_of_lines = [line.strip("|").split("|") for line in (find_model(name) / "README.md").read_text().splitlines()]
    rows = [[cell.strip() for cell in cells[1:]] for cells in cells_of_lines if len(cells) > 2]
    assert list(bleu) in rows
    assert [f"{score:.1f}" for score in bleu.values()] in rows


def test_model_and_run_folders_of_the_current_and_of_given_folders_are_listed(
    cmlm_folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(cmlm_folder, tmp_path / "current" / "mine")
    shutil.copytree(cmlm_folder, tmp_path / "runs" / "first" / "model")
    (tmp_path / "runs" / "notes").mkdir()
    assert as_json()["mine"]["system"] == "cmlm"
    listed = as_json(tmp_path / "runs")
    (run,) = (name for name, model in listed.items() if model["place"] == "folder")
    assert run == str(tmp_path / "runs" / "first")
    assert find_model(run) == Path(str(listed[run]["folder"]))


def test_the_table_has_a_row_for_each_model(cmlm_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(cmlm_folder, tmp_path / "current" / "mine")
    output = models().stdout
    for name in ("de-en-shallow", "en-de", "de-en-teacher", "mine"):
        (row,) = (line for line in output.splitlines() if f" {name} " in line)
        assert " MB" not in row
    assert max(map(len, output.splitlines())) <= 120


def test_a_folder_that_is_not_ours_is_named_as_a_problem(cmlm_folder: Path, tmp_path: Path) -> None:
    foreign = shutil.copytree(cmlm_folder, tmp_path / "current" / "marian")
    (foreign / "config.json").write_text('{"model_type": "marian"}', encoding="utf-8")
    damaged = shutil.copytree(cmlm_folder, tmp_path / "current" / "damaged")
    (damaged / "config.json").write_text('{"format_version": 1}', encoding="utf-8")
    result = models()
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "problem: damaged/config.json is damaged; copy the model folder again.",
        "problem: marian/config.json has no format_version, so it is not a maskpredict model; check the path.",
    ]


def test_a_folder_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    result = models(tmp_path / "nowhere")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no folder" in result.stderr
