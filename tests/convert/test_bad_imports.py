"""What is wrong with a foreign folder is said in one sentence, nothing in it runs and nothing half-written stays."""

from __future__ import annotations

import argparse
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from maskpredict.cli import app
from maskpredict.convert.importing import FAMILIES

CHECKPOINT = "checkpoint_best_average.pt"


@pytest.fixture
def foreign(release: Path, tmp_path: Path) -> Path:
    """A copy of the authors' folder, to be damaged."""
    folder = tmp_path / "foreign"
    folder.mkdir()
    for path in release.glob("*"):
        shutil.copyfile(path, folder / path.name)
    return folder


def complaint(folder: Path, *options: object, format: str = "mask-predict-release") -> str:
    """The sentence with which the import fails; it must leave nothing behind."""
    before = set(folder.parent.iterdir())
    arguments = ["import", format, str(folder), str(folder.parent / "out"), *map(str, options)]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert set(folder.parent.iterdir()) == before
    return result.stderr


def change(folder: Path, **settings: Any) -> None:
    """Rewrite the checkpoint with other settings."""
    with torch.serialization.safe_globals([argparse.Namespace]):
        content = torch.load(folder / CHECKPOINT, weights_only=True)
    vars(content["args"]).update(settings)
    torch.save(content, folder / CHECKPOINT)


class RunsACommand:
    """Unpickles by calling a function."""

    def __init__(self, call: Callable[..., Any], *arguments: object) -> None:
        self.call = (call, arguments)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        return self.call


@pytest.mark.parametrize("place", ["alone", "in args", "beside the model", "in a zip"])
def test_a_pickle_that_would_run_a_command_is_refused_and_runs_nothing(foreign: Path, place: str) -> None:
    ran = foreign.parent / "ran"
    trap = RunsACommand(os.system, f"touch {ran}")
    args = argparse.Namespace(arch=trap if place == "in args" else "bert_transformer_seq2seq")
    content: Any = trap if place == "alone" else {"args": args, "model": {}, "extra_state": trap}
    if place == "in a zip":
        torch.save(content, foreign / CHECKPOINT)
    else:
        (foreign / CHECKPOINT).write_bytes(pickle.dumps(content, protocol=2))
    sentence = complaint(foreign)
    assert not ran.exists()
    assert "posix.system" in sentence
    assert "refused" in sentence
    pickle.loads(pickle.dumps(trap))  # it would have worked
    assert ran.exists()


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.999])
@pytest.mark.parametrize("zipped", [False, True], ids=["old format", "new format"])
def test_a_truncated_checkpoint_is_noticed(foreign: Path, share: float, zipped: bool) -> None:
    if zipped:
        change(foreign)
    content = (foreign / CHECKPOINT).read_bytes()
    (foreign / CHECKPOINT).write_bytes(content[: int(len(content) * share)])
    assert "is damaged or not a checkpoint; copy it again" in complaint(foreign)


@pytest.mark.parametrize("content", [{"weights": {}}, [1, 2], {"args": argparse.Namespace(arch="x"), "model": 1}])
def test_a_file_of_something_else_is_noticed(foreign: Path, content: Any) -> None:
    torch.save(content, foreign / CHECKPOINT)
    assert "is not a checkpoint of fairseq" in complaint(foreign)


def test_a_folder_without_a_checkpoint_or_none_at_all_is_noticed(foreign: Path) -> None:
    (foreign / CHECKPOINT).unlink()
    assert "has no checkpoint" in complaint(foreign)
    assert "has no checkpoint" in complaint(foreign.parent / "nowhere")


@pytest.mark.parametrize("language", ["xx", "yy"])
def test_a_missing_dictionary_is_named(foreign: Path, language: str) -> None:
    (foreign / f"dict.{language}.txt").unlink()
    assert f"dict.{language}.txt is missing" in complaint(foreign)


@pytest.mark.parametrize("lines", [35, 44])
def test_a_vocabulary_of_another_size_is_noticed(foreign: Path, lines: int) -> None:
    (foreign / "dict.yy.txt").write_text("".join(f"v{number} 1\n" for number in range(lines)))
    assert f"vocabulary of {lines + 5} symbols, but the checkpoint has 48" in complaint(foreign)


@pytest.mark.parametrize("line", ["word", "word many", " 3", ""])
def test_a_dictionary_that_is_none_is_noticed(foreign: Path, line: str) -> None:
    (foreign / "dict.xx.txt").write_text(f"fine 1\n{line}\nfine 1\n")
    assert "line 2 of" in complaint(foreign)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"arch": "fconv"}, "architecture 'fconv', which cannot be imported"),
        ({"arch": "transformer_lm_big"}, "which cannot be imported"),
        ({"arch": "transformer_wmt_en_de"}, "import it as fairseq-transformer"),
        ({"adaptive_softmax_cutoff": "5000,20000"}, "adaptive softmax (adaptive-softmax-cutoff)"),
        ({"no_dec_token_positional_embeddings": True}, "no positions in the decoder"),
        ({"decoder_output_dim": 16}, "decoder-output-dim of its own"),
        ({"encoder_attention_heads": 2}, "another attention-heads in its encoder (2) than in its decoder (4)"),
        ({"activation_fn": "swish"}, "only gelu and relu"),
        ({"encoder_layers": 1}, "encoder.layers.1"),
        ({"encoder_layers": 3}, "no weights called encoder.layers.2.self_attn"),
        ({"encoder_ffn_embed_dim": 128, "decoder_ffn_embed_dim": 128}, "the weights do not fit"),
        ({"source_lang": None}, "does not name its languages"),
    ],
)
def test_what_cannot_be_imported_is_said_in_a_sentence(foreign: Path, settings: dict[str, Any], part: str) -> None:
    change(foreign, **settings)
    assert part in complaint(foreign)


def test_codes_that_are_none_and_formats_that_are_none_are_noticed(foreign: Path) -> None:
    assert "is not a file of BPE codes" in complaint(foreign, "--bpe-codes", foreign / "expected.json")
    assert "cannot be read" in complaint(foreign, "--bpe-codes", foreign / "nowhere")
    assert ", ".join(FAMILIES) in complaint(foreign, format="marian")


def test_an_earlier_model_is_replaced_only_when_asked(foreign: Path, imported: Path) -> None:
    out = foreign.parent / "out"
    shutil.copytree(imported, out)
    assert "is not empty" in complaint(foreign)
    arguments = ["import", "mask-predict-release", str(foreign), str(out), "--overwrite"]
    assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0


def test_inspect_says_what_a_foreign_folder_is_and_what_to_do(foreign: Path) -> None:
    found = CliRunner().invoke(app, ["inspect", str(foreign)], catch_exceptions=False, env={"COLUMNS": "200"})
    assert found.exit_code == 0
    assert "a model of the Mask-Predict authors" in found.stdout
    assert "maskpredict import mask-predict-release" in found.stdout


def test_inspect_says_why_a_foreign_folder_cannot_be_imported(foreign: Path) -> None:
    (foreign / "dict.xx.txt").unlink()
    found = CliRunner().invoke(app, ["inspect", str(foreign)], catch_exceptions=False)
    assert found.exit_code == 1
    assert "dict.xx.txt is missing" in found.stderr
