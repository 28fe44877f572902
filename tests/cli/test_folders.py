"""The verbs that make and check folders, and what damaged folders and configurations get to hear."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import maskpredict
from maskpredict.cli import app
from maskpredict.corpus.dataset import Dataset

Damage = Callable[[Path], object]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input="luri.\n", catch_exceptions=False)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1000] ^= 4
    path.write_bytes(content)


DAMAGES: dict[str, tuple[Damage, str]] = {
    "truncated weights": (lambda folder: truncate(folder / "model.safetensors"), "model.safetensors is damaged"),
    "flipped bit": (
        lambda folder: flip_a_bit(folder / "model.safetensors"),
        "model.safetensors is damaged: its checksum",
    ),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "model.safetensors is missing"),
    "damaged json": (lambda folder: truncate(folder / "config.json"), "config.json cannot be read as JSON"),
    "damaged settings": (lambda folder: truncate(folder / "generation.json"), "generation.json"),
    "unknown setting": (lambda folder: change(folder / "generation.json", beams=4), "unknown key 'beams'"),
    "newer format": (lambda folder: change(folder / "config.json", format_version=99), "upgrade maskpredict"),
    "other system": (lambda folder: change(folder / "config.json", system="oracle"), "no system 'oracle'"),
    "no tokenizer": (lambda folder: (folder / "tokenizer.model").unlink(), "has no tokenizer"),
    "damaged tokenizer": (lambda folder: truncate(folder / "tokenizer.model"), "is not a SentencePiece model"),
}


@pytest.fixture
def damaged(cmlm_folder: Path, tmp_path: Path) -> Path:
    """A copy of a sound model folder, to be damaged."""
    return Path(shutil.copytree(cmlm_folder, tmp_path / "model"))


@pytest.mark.parametrize(("damage", "sentence"), DAMAGES.values(), ids=DAMAGES)
def test_a_broken_model_folder_gets_one_sentence(damaged: Path, damage: Damage, sentence: str) -> None:
    damage(damaged)
    result = run("translate", "--model", damaged)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(("damage", "sentence"), DAMAGES.values(), ids=DAMAGES)
def test_inspect_lists_what_is_wrong_with_a_model(damaged: Path, damage: Damage, sentence: str) -> None:
    damage(damaged)
    result = run("inspect", damaged)
    assert result.exit_code == 1
    assert sentence in result.stderr


def test_inspect_describes_a_sound_model(cmlm_folder: Path) -> None:
    result = run("inspect", cmlm_folder)
    assert result.exit_code == 0
    for fact in ("cmlm", "xx to yy", "90 subwords, joint", "width: 32", "iterations: 10"):
        assert fact in result.stdout


def test_inspect_notices_a_foreign_tokenizer(damaged: Path) -> None:
    change(damaged / "config.json", vocab_size={"source": 91, "target": 90})
    result = run("inspect", damaged)
    assert result.exit_code == 1
    assert "91" in result.stderr


@pytest.mark.parametrize("make", [lambda path: None, Path.mkdir, Path.touch], ids=["nothing", "empty", "file"])
def test_inspecting_something_else_is_a_mistake(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "x")
    result = run("inspect", tmp_path / "x")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")


@pytest.fixture
def corpus(tmp_path: Path, sentences: list[str], expected: Callable[[str], str]) -> Path:
    (tmp_path / "a.xx").write_text("".join(f"{sentence}\n" for sentence in sentences))
    (tmp_path / "a.yy").write_text("".join(f"{expected(sentence)}\n" for sentence in sentences))
    (tmp_path / "b.tsv").write_text("".join(f"{sentence}\t{expected(sentence)}\n" for sentence in sentences[:9]))
    return tmp_path


def prepared(corpus: Path, *options: object) -> Result:
    languages = ["-s", "xx", "-t", "yy", "--vocab-size", 80]
    return run("prepare", corpus / "data", *languages, "--train", corpus / "a.xx", corpus / "a.yy", *options)


def test_prepare_with_flags_makes_a_data_folder_that_inspect_finds_whole(corpus: Path) -> None:
    tsv = corpus / "b.tsv"
    result = prepared(corpus, "--train", tsv, "--valid", tsv, "--test", tsv, "cleaning.drop_duplicates=false")
    assert result.exit_code == 0, result.stderr
    assert Dataset(corpus / "data").splits == ["train", "valid", "test"]
    inspected = run("inspect", corpus / "data")
    assert inspected.exit_code == 0
    assert "9 pairs: b" in inspected.stdout


def test_a_vocabulary_of_no_subwords_is_refused(corpus: Path) -> None:
    result = prepared(corpus, "--vocab-size", 0)
    assert result.exit_code == 2
    assert "'vocabulary.size' must be a whole number of at least 1, not 0" in result.stderr
    assert not (corpus / "data").exists()


def test_the_report_of_prepare_is_whole_at_80_columns(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for side in ("a.xx", "a.yy"):
        (corpus / side).write_text((corpus / side).read_text() * 2)  # a column of duplicates
    result = prepared(corpus)
    assert "duplica" in result.stderr, "the heading is folded"
    assert "…" not in result.stderr


def test_prepare_with_a_file_and_overrides(corpus: Path) -> None:
    config = corpus / "prepare.yaml"
    config.write_text(
        "source_language: xx\ntarget_language: yy\nout: nowhere\n"
        f"train:\n- {{source: {corpus / 'a.xx'}, target: {corpus / 'a.yy'}}}\nvocabulary: {{size: 4000}}\n"
    )
    result = run("prepare", config, f"out={corpus / 'data'}", "vocabulary.size=80")
    assert result.exit_code == 0, result.stderr
    assert Dataset(corpus / "data").description.vocab_size.source == 80


def test_inspect_notices_damaged_data(corpus: Path) -> None:
    prepared(corpus)
    (corpus / "data" / "train.yy.ids").unlink()
    result = run("inspect", corpus / "data")
    assert result.exit_code == 1
    assert "train.yy.ids is missing" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--train", "one.xx"], "--train takes two files"),
        (["--valid", "missing.tsv"], "missing.tsv cannot be read"),
        (["vocabulary.sise=3"], "did you mean 'vocabulary.size'?"),
        (["vocabulary"], "write it as key=value"),
    ],
)
def test_a_mistake_in_prepare_gets_one_sentence(corpus: Path, arguments: list[str], sentence: str) -> None:
    result = prepared(corpus, *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert not (corpus / "data").exists()


def test_a_file_and_flags_are_not_mixed(corpus: Path) -> None:
    (corpus / "prepare.yaml").write_text("source_language: xx\n")
    result = run("prepare", corpus / "prepare.yaml", "--source-language", "xx")
    assert result.exit_code == 2
    assert "use key=value" in result.stderr


@pytest.mark.parametrize("verb", ["train", "distill", "prepare"])
def test_an_unknown_key_gets_one_sentence(verb: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("dta: somewhere\n")
    result = run(verb, tmp_path / "config.yaml")
    assert result.exit_code == 2
    assert "unknown key 'dta'" in result.stderr


def test_a_missing_configuration_gets_one_sentence(tmp_path: Path) -> None:
    result = run("train", tmp_path / "none.yaml")
    assert result.exit_code == 2
    assert "cannot read the configuration" in result.stderr


def test_the_verbs_lead_from_raw_text_to_a_translation(corpus: Path) -> None:
    def succeeds(*arguments: object) -> Result:
        result = run(*arguments)
        assert result.exit_code == 0, result.output
        return result

    prepared(corpus, "--valid", corpus / "b.tsv")
    (corpus / "train.yaml").write_text(
        f"data: {corpus / 'data'}\nrun: {corpus / 'teacher'}\npreset: tiny\n"
        "model: {width: 16, hidden: 16, heads: 2, encoder_layers: 1, decoder_layers: 1}\n"
        "steps: 4\nbatch: {tokens: 400, part_tokens: 400}\nvalidation: {every: 2}\n"
    )
    (corpus / "distill.yaml").write_text(
        f"data: {corpus / 'data'}\nteacher: {corpus / 'teacher'}\nout: {corpus / 'distilled'}\nbeam_size: 2\n"
    )
    succeeds("train", corpus / "train.yaml", "device=cpu", "system=autoregressive")
    succeeds("distill", corpus / "distill.yaml", "device=cpu")
    succeeds("train", corpus / "train.yaml", "device=cpu", f"data={corpus / 'distilled'}", f"run={corpus / 'student'}")
    assert "finished" in succeeds("inspect", corpus / "student").stdout
    succeeds("average", corpus / "student", corpus / "mean")
    translated = succeeds("translate", "--model", corpus / "mean", "--iterations", "1")
    assert translated.stdout.count("\n") == 1


def test_version_and_help() -> None:
    assert run("--version").stdout == f"maskpredict {maskpredict.__version__}\n"
    listed = run("--help").stdout
    for verb in ("prepare", "train", "average", "distill", "translate", "fill", "score", "inspect", "demo"):
        assert verb in listed
        assert run(verb, "--help").exit_code == 0
