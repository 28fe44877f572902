"""`maskpredict inspect` on exported folders: what they are, whether they are whole, and what to do with them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from maskpredict.cli import app
from maskpredict.export import EXPORTS, export_browser, export_ctranslate2, export_transformers
from maskpredict.export.inspection import inspect_export

Exports = dict[str, Path]


@pytest.fixture(scope="module")
def exports(
    cmlm_folder: Path, autoregressive_folder: Path, npm_package: Path, tmp_path_factory: pytest.TempPathFactory
) -> Exports:
    """A folder of each format. That of ONNX is part of the page: converting graphs takes long."""
    place = tmp_path_factory.mktemp("exports")
    export_browser(cmlm_folder, place / "browser", runtime=npm_package)
    export_ctranslate2(autoregressive_folder, place / "ctranslate2")
    export_transformers(cmlm_folder, place / "transformers")
    return {**{form: place / form for form in EXPORTS}, "onnx": place / "browser" / "model"}


def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / folder.name))


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")


@pytest.mark.parametrize(
    ("form", "kind", "system", "precision", "command"),
    [
        ("ctranslate2", "CTranslate2 folder", "autoregressive", "float32", "ctranslate2.Translator("),
        ("onnx", "ONNX folder", "cmlm", "int8", "python examples/onnx_mask_predict.py {} 4 1"),
        ("transformers", "transformers folder", "cmlm", "float32", "maskpredict translate -m {}"),
        ("browser", "browser folder", "cmlm", "int8", "python -m http.server --directory {}"),
    ],
)
def test_every_export_says_what_it_is_and_what_to_do_with_it(
    exports: Exports, form: str, kind: str, system: str, precision: str, command: str
) -> None:
    folder = exports[form]
    found = inspect_export(folder)
    assert found is not None
    assert (found.kind, found.problems) == (kind, [])
    assert found.facts["languages"] == "xx to yy"
    assert found.facts["model"].startswith(f"{system} with ")
    assert found.facts["model card"] == "xx to yy"
    assert found.facts["precision"] == precision
    total = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert found.facts["size"].startswith(f"{total:,} bytes in ")
    assert command.format(folder) in found.facts["what to do"]


def test_the_command_prints_it_and_says_whether_it_is_whole(exports: Exports, tmp_path: Path) -> None:
    folder = copied(exports["onnx"], tmp_path)
    result = CliRunner().invoke(app, ["inspect", str(folder)])
    assert result.exit_code == 0
    assert "encoder and decoder as ONNX graphs" in result.stdout
    (folder / "decoder.onnx").write_bytes((folder / "decoder.onnx").read_bytes()[:1000])
    result = CliRunner().invoke(app, ["inspect", str(folder)])
    assert result.exit_code == 1
    assert "problem: decoder.onnx has 1,000 bytes instead of " in result.stderr


@pytest.mark.parametrize("form", list(EXPORTS))
def test_every_missing_file_is_named(exports: Exports, form: str, tmp_path: Path) -> None:
    folder = copied(exports[form], tmp_path)
    expected = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name in expected - {"export.json", "README.md"}:
        (folder / name).unlink()
    found = inspect_export(folder)
    assert found is not None
    assert {problem.split(" is missing; ")[0] for problem in found.problems} == expected - {"export.json", "README.md"}


def test_a_model_card_may_be_edited(exports: Exports, tmp_path: Path) -> None:
    folder = copied(exports["transformers"], tmp_path)
    (folder / "README.md").write_text("# Our best\n\nMuch text.\n", encoding="utf-8")
    found = inspect_export(folder)
    assert found is not None
    assert found.problems == []
    assert found.facts["model card"] == "Our best"


def test_a_transformers_folder_is_checked_as_the_model_folder_it_is(exports: Exports, tmp_path: Path) -> None:
    folder = copied(exports["transformers"], tmp_path)
    weights = folder / "model.safetensors"
    weights.write_bytes(bytes(weights.stat().st_size))  # of the right size, and nothing else
    found = inspect_export(folder)
    assert found is not None
    assert "is damaged" in found.problems[0]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format_version": 2}, "is of a newer version; upgrade maskpredict."),
        ({"format": "clay"}, "is damaged; export the model again."),
        ({"files": None}, "is damaged; export the model again."),
    ],
)
def test_a_signature_that_cannot_be_used_is_said_in_a_sentence(
    exports: Exports, tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    folder = copied(exports["onnx"], tmp_path)
    edit(folder / "export.json", **change)
    found = inspect_export(folder)
    assert found is not None
    assert found.problems == [f"{folder / 'export.json'} {sentence}"]


def test_other_folders_are_left_to_others(cmlm_folder: Path, tmp_path: Path) -> None:
    assert inspect_export(cmlm_folder) is None
    assert inspect_export(tmp_path / "nowhere") is None
