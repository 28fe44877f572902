"""The folder of a page that runs a model in the browser; tests/browser/test_browser_export.py runs it."""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import sentencepiece
from typer.testing import CliRunner

from maskpredict import UserError
from maskpredict.cli import app
from maskpredict.dictionary import DictionaryTokenizer
from maskpredict.export import export_browser
from maskpredict.export.browser_runtime import copy_runtime
from maskpredict.model.folder import ModelFolder
from maskpredict.tokenizer import SentencePieceTokenizer, Tokenizers

RandomModel = Callable[..., ModelFolder]


@pytest.fixture
def archive(npm_package: Path, tmp_path: Path) -> Path:
    """The package as `npm pack` leaves it."""
    path = tmp_path / "onnxruntime-web.tgz"
    with tarfile.open(path, "w:gz") as file:
        file.add(npm_package, "package")
    return path


def fake_npm(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program called npm before all others."""
    folder.mkdir()
    (folder / "npm").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_the_command_writes_every_file_that_the_page_names(
    cmlm_folder: Path, npm_package: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    given = ["export", "browser", str(cmlm_folder), str(out), "--runtime", str(npm_package)]
    result = CliRunner().invoke(app, given, catch_exceptions=False)
    assert result.exit_code == 0
    assert "has README.md, browser.json, export.json, index.html, model, page, runtime, vocabulary (" in result.stderr
    named = re.compile(r'(?:src|href)="(?!http)([^"#]+)|from "([^"]+)"|new URL\("([^"]+\.[a-z]+)"')
    checked = 0
    for path in [out / "index.html", *(out / "page").glob("*.js")]:
        for groups in named.findall(path.read_text(encoding="utf-8")):
            assert (path.parent / "".join(groups)).is_file(), f"{path.name} needs {groups}"
            checked += 1
    assert checked > 50
    description = json.loads((out / "browser.json").read_text(encoding="utf-8"))
    assert description["languages"] == {"source": "xx", "target": "yy"}
    assert {name: (out / name).stat().st_size for name in description["downloads"]} == description["downloads"]
    assert set(description["vocabularies"].values()) == {"vocabulary/tokenizer.json"}
    assert description["runtime"] == "1.2.3"
    assert json.loads((out / "export.json").read_text(encoding="utf-8"))["precision"] == "int8"


def test_two_vocabularies_are_two_files(random_model: RandomModel, npm_package: Path, tmp_path: Path) -> None:
    model = random_model("cmlm", embeddings="separate", encoder_layers=1, decoder_layers=1)
    out = export_browser(model, tmp_path / "out", runtime=npm_package, precision="float32").folder
    vocabularies = json.loads((out / "browser.json").read_text(encoding="utf-8"))["vocabularies"]
    assert vocabularies == {"source": "vocabulary/source.json", "target": "vocabulary/target.json"}
    pieces = json.loads((out / vocabularies["target"]).read_text(encoding="utf-8"))["pieces"]
    assert pieces == model.tokenizers.target.pieces(range(len(pieces)))


@pytest.mark.parametrize("shape", ["folder", "archive", "archive's folder", "node_modules"])
def test_the_runtime_may_be_handed_over_in_any_shape(
    npm_package: Path, archive: Path, tmp_path: Path, shape: str
) -> None:
    given = {"folder": npm_package, "archive": archive}.get(shape, tmp_path / "unpacked")
    if not given.exists():
        home = given / "package" if shape == "archive's folder" else given / "node_modules" / "onnxruntime-web"
        home.parent.mkdir(parents=True)
        home.symlink_to(npm_package)
    assert copy_runtime(given, tmp_path) == "1.2.3"
    assert (tmp_path / "onnxruntime.js").read_bytes() == b"script"
    assert (tmp_path / "onnxruntime.wasm").read_bytes() == b"program"


def test_npm_fetches_the_runtime_where_none_is_given(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_npm(tmp_path / "bin", f'echo "$@" > {tmp_path}/asked; for last; do :; done; cp {archive} "$last"', monkeypatch)
    assert copy_runtime(None, tmp_path) == "1.2.3"
    assert re.match(r"pack onnxruntime-web@\d+\.\d+\.\d+ ", (tmp_path / "asked").read_text())


def test_without_a_runtime_a_sentence_says_how_to_get_one(
    random_model: RandomModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    way = "elsewhere, run `npm pack onnxruntime-web` and give the file with --runtime"
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=f"npm is not installed; {way}"):
        export_browser(random_model("cmlm"), tmp_path / "out")
    fake_npm(tmp_path / "bin", "exit 7", monkeypatch)
    with pytest.raises(UserError, match=rf"npm could not download onnxruntime-web \(exit code 7\); {way}"):
        export_browser(random_model("cmlm"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_something_else_than_the_runtime_is_refused(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    archive.write_bytes(archive.read_bytes()[:100])
    other = tmp_path / "other"
    other.mkdir()
    (other / "package.json").write_text('{"name": "left-pad", "version": "1"}')
    for given, sentence in [
        (tmp_path / "nowhere", "is not the npm package onnxruntime-web"),
        (tmp_path / "empty", "is not the npm package onnxruntime-web"),
        (archive, "is not the npm package onnxruntime-web"),
        (other, "is the npm package left-pad, not onnxruntime-web"),
    ]:
        with pytest.raises(UserError, match=sentence):
            copy_runtime(given, tmp_path)


def test_other_models_are_refused(random_model: RandomModel, npm_package: Path, tmp_path: Path) -> None:
    cmlm = random_model("cmlm")
    dictionary = DictionaryTokenizer(["<s>", "<pad>", "</s>", "<unk>", "<mask>", "a"], cmlm.tokenizers.source.special)
    for model, sentence in [
        (random_model("autoregressive"), "it takes cmlm and alignment models, not autoregressive ones"),
        (replace(cmlm, tokenizers=Tokenizers(dictionary, dictionary)), "this imported model has a dictionary"),
        (replace(cmlm, tokenizers=Tokenizers(*[unigrams(cmlm)] * 2)), "it supports SentencePiece BPE"),
    ]:
        with pytest.raises(UserError, match=sentence):
            export_browser(model, tmp_path / "out", runtime=npm_package)
    assert not (tmp_path / "out").exists()


def unigrams(model: ModelFolder) -> SentencePieceTokenizer:
    """A vocabulary of the same size and another kind."""
    content = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([f"{a}{b}{c}" for a in "abcdefg" for b in "hijklmn" for c in "opqrstu"]),
        model_writer=content,
        model_type="unigram",
        vocab_size=model.tokenizers.source.vocab_size,
        hard_vocab_limit=False,
        pad_id=0,
        bos_id=1,
        eos_id=2,
        unk_id=3,
        control_symbols=["<mask>"],
        minloglevel=2,
    )
    return SentencePieceTokenizer(content.getvalue())


def test_only_this_format_has_a_runtime(cmlm_folder: Path, tmp_path: Path) -> None:
    given = ["export", "onnx", str(cmlm_folder), str(tmp_path / "out"), "--runtime", str(tmp_path)]
    result = CliRunner().invoke(app, given, catch_exceptions=False)
    assert result.exit_code == 2
    assert "--runtime is only for browser exports" in result.stderr
