"""`maskpredict export`: a folder that is whole, or one sentence and no folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maskpredict.cli import app
from maskpredict.cli.export import ExportFormat
from maskpredict.export import EXPORTS


def export(*arguments: object) -> tuple[int, str]:
    """Exit code and what was said."""
    result = CliRunner().invoke(app, ["export", *map(str, arguments)], catch_exceptions=False)
    assert result.stdout == ""
    return result.exit_code, result.stderr


def test_the_command_knows_every_format() -> None:
    assert {form.value for form in ExportFormat} == set(EXPORTS)


def test_a_folder_is_written_and_its_files_are_named(autoregressive_folder: Path, tmp_path: Path) -> None:
    code, said = export("ctranslate2", autoregressive_folder, tmp_path / "out", "--precision", "int8")
    assert code == 0
    assert {"model.bin", "tokenizer.model", "README.md"} <= {path.name for path in (tmp_path / "out").iterdir()}
    assert "model.bin" in said


def test_an_earlier_export_is_replaced_only_when_asked(cmlm_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert export("transformers", cmlm_folder, out)[0] == 0
    code, said = export("transformers", cmlm_folder, out, "--precision", "float16")
    assert code == 2
    assert "not empty" in said
    assert export("transformers", cmlm_folder, out, "--precision", "float16", "--overwrite")[0] == 0
    assert json.loads((out / "config.json").read_text(encoding="utf-8"))["dtype"] == "float16"


@pytest.mark.parametrize(
    ("form", "options", "sentence"),
    [
        ("onnx", ["--precision", "float16"], "ONNX exports do not support float16; choose one of float32, int8."),
        ("transformers", ["--precision", "int8"], "transformers exports do not support int8"),
        ("ctranslate2", [], "onnx takes a cmlm, too"),
    ],
)
def test_what_a_format_does_not_have_is_said_in_a_sentence(
    form: str, options: list[str], sentence: str, cmlm_folder: Path, tmp_path: Path
) -> None:
    code, said = export(form, cmlm_folder, tmp_path / "out", *options)
    assert code == 2
    assert said.count("\n") == 1
    assert sentence in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("form", "package", "needs"),
    [
        ("ctranslate2", "ctranslate2", "an export to CTranslate2 needs CTranslate2"),
        ("onnx", "onnxscript", "an export to ONNX needs onnxscript"),
    ],
)
def test_a_package_that_is_not_there_is_named(
    form: str, package: str, needs: str, autoregressive_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as good as not installed
    code, said = export(form, autoregressive_folder, tmp_path / "out")
    assert code == 2
    assert said == f"error: {needs}: pip install 'maskpredict[export]'.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", list(EXPORTS))
def test_a_model_that_is_not_there_is_said_in_a_sentence(form: str, tmp_path: Path) -> None:
    code, said = export(form, tmp_path / "nowhere", tmp_path / "out")
    assert code == 2
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_model_whose_weights_are_cut_off_leaves_nothing_behind(cmlm_folder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for path in cmlm_folder.iterdir():
        content = path.read_bytes()
        (broken / path.name).write_bytes(content[:1000] if path.name == "model.safetensors" else content)
    code, said = export("transformers", broken, tmp_path / "out")
    assert code == 2
    assert "is damaged" in said
    assert not (tmp_path / "out").exists()
