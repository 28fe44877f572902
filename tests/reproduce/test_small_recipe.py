"""The recipe for a small corpus goes from two files of a user's text to a model that translates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from maskpredict import Translator
from maskpredict.corpus.toy import write_toy_corpus

TINY = ["model.width=32", "model.hidden=32", "model.encoder_layers=1", "model.decoder_layers=1", "steps=3"]
FAST = [
    *(f"{section}.{value}" for section in ("teacher", "student") for value in TINY),
    *(f"{section}.{value}" for section in ("teacher", "distill", "student") for value in ("threads=1", "device=cpu")),
    *("vocabulary.size=240", "evaluate.limit=4", "evaluate.device=cpu"),
]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A user's folder of text, in files that end in the codes of their languages."""
    write_toy_corpus(tmp_path / "mine", 60, 8, 8, seed=3)
    for file in (tmp_path / "mine").iterdir():
        file.rename(file.with_suffix({".src": ".fr", ".tgt": ".pt"}[file.suffix]))
    return tmp_path / "mine"


def test_two_files_of_text_become_a_model_with_scores(
    cli: Callable[..., Result], mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    languages = ["source_language=fr", "target_language=pt"]
    result = cli("reproduce", "small", "--data", mine, *languages, *FAST)
    assert result.exit_code == 0, result.output
    assert "the results are in runs/small" in result.stderr
    translator = Translator(tmp_path / "runs" / "small" / "model", device="cpu")
    assert str(translator.languages) == "fr to pt"
    assert len(translator.translate(["tiba runek mola sepi"])) == 1


def test_a_missing_file_is_named_with_what_to_do(
    cli: Callable[..., Result], mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (mine / "valid.pt").unlink()
    result = cli("reproduce", "small", "--data", mine, "source_language=fr", "target_language=pt", *FAST)
    assert result.exit_code == 2
    assert "valid.pt is missing; put train, valid and test there, in two files each" in result.stderr
