"""`maskpredict evaluate` as its users meet it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from maskpredict import Translator
from maskpredict.cli import app
from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig
from maskpredict.corpus.vocabulary import VocabularyConfig


def run(*arguments: object) -> str:
    """Runs the verb, which must succeed, and gives its output."""
    texts = [str(argument) for argument in arguments]
    result = CliRunner().invoke(app, ["evaluate", "--confidence", "50", *texts], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def record(*arguments: object) -> dict[str, Any]:
    return json.loads(run("--format", "json", *arguments))


def fails(*arguments: object) -> str:
    """Runs the verb, which must end with code 2 and one sentence."""
    texts = [str(argument) for argument in arguments]
    result = CliRunner().invoke(app, ["evaluate", *texts], catch_exceptions=False)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    *_, last = result.stderr.splitlines()
    assert last.startswith("error: ")
    return last


@pytest.fixture(scope="module")
def data(sentences: list[str], expected: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with two test splits of the toy language."""
    folder = tmp_path_factory.mktemp("data")

    def corpus(name: str, sources: list[str]) -> CorpusConfig:
        (folder / f"{name}.xx").write_text("".join(f"{source}\n" for source in sources))
        (folder / f"{name}.yy").write_text("".join(f"{expected(source)}\n" for source in sources))
        return CorpusConfig(name=name, source=folder / f"{name}.xx", target=folder / f"{name}.yy")

    prepare(
        PrepareConfig(
            source_language="xx",
            target_language="yy",
            out=folder / "data",
            train=(corpus("train", sentences),),
            valid=(corpus("valid", sentences[:5]),),
            test=(corpus("short", sentences[:20]), corpus("long", sentences[40:55])),
            vocabulary=VocabularyConfig(size=90),
        )
    )
    return folder / "data"


def test_a_table_has_scores_signatures_and_p_values(texts: Path) -> None:
    shown = run(
        "--hypotheses", f"mine={texts}/good.txt", "--hypotheses", f"theirs={texts}/bad.txt",
        "--reference", texts / "ref.txt", "--metric", "bleu,ter",
    )  # fmt: skip
    assert "ref.txt: 50 sentences" in shown
    assert "BLEU ↑" in shown
    assert "TER ↓" in shown
    assert "chrF" not in shown
    assert "BLEU: nrefs:1|bs:50|seed:12345|" in shown
    assert shown.count("p = 0.0010") == 2
    assert "p against mine: paired bootstrap, 1,000 samples." in shown


def test_a_signature_is_never_broken_into_lines(texts: Path) -> None:
    command = "sh -c 'echo 1' " + "x" * 150 + " {hypothesis}"
    files = ("--hypotheses", texts / "good.txt", "--reference", texts / "ref.txt", "--metric", "bleu")
    assert f"COMET: command:{command}" in run(*files, "--comet-command", command).splitlines()


def test_all_test_splits_are_used_and_one_can_be_chosen(data: Path, cmlm_folder: Path) -> None:
    options = ("--data", data, "--model", f"own={cmlm_folder}", "--iterations", 2, "--metric", "bleu")
    assert [result["name"] for result in record(*options)["sets"]] == ["test.short", "test.long"]
    (chosen,) = record(*options, "--split", "test.long")["sets"]
    assert (chosen["name"], chosen["sentences"], chosen["target_language"]) == ("test.long", 15, "yy")
    assert chosen["systems"][0]["origin"]["settings"]["iterations"] == 2
    assert chosen["comparison"] is None


def test_models_have_settings_of_their_own(data: Path, cmlm_folder: Path, autoregressive_folder: Path) -> None:
    found = record(
        "--data", data, "--split", "test.short", "--metric", "chrf", "--length-penalty", "0.5", "--model",
        f"greedy={autoregressive_folder},beam_size=1", "--model", f"{autoregressive_folder},beam_size=3",
    )  # fmt: skip
    first, second = found["sets"][0]["systems"]
    assert (first["name"], second["name"]) == ("greedy", f"{autoregressive_folder},beam_size=3")
    assert [system["origin"]["settings"]["beam_size"] for system in (first, second)] == [1, 3]
    assert [system["origin"]["settings"]["length_penalty"] for system in (first, second)] == [0.5, 0.5]


def test_models_and_files_stand_in_one_table(data: Path, cmlm_folder: Path, tmp_path: Path) -> None:
    source, reference = data.parent / "short.xx", data.parent / "short.yy"
    options = ("--source", source, "--reference", reference, "--iterations", 1, "--metric", "bleu")
    saved = tmp_path / "new" / "folder"
    run(*options, "--model", f"own={cmlm_folder}", "--save-translations", saved)
    written = (saved / "own.short.yy.txt").read_text().splitlines()
    translated = Translator(cmlm_folder).translate(source.read_text().splitlines(), raw=True, iterations=1)
    assert written == [translation.text for translation in translated]

    found = record(*options, "--model", f"own={cmlm_folder}", "--hypotheses", saved / "own.short.yy.txt")
    file, model = found["sets"][0]["systems"]
    assert file["scores"] == model["scores"]
    assert (file["seconds"], model["seconds"] > 0) == (None, True)
    assert found["sets"][0]["target_language"] == "yy"


def test_the_report_can_go_to_a_file(texts: Path, tmp_path: Path) -> None:
    options = ("--hypotheses", texts / "good.txt", "--reference", texts / "ref.txt", "--metric", "chrf")
    assert run(*options, "--output", tmp_path / "report.txt") == ""
    assert "chrF2++ ↑" in (tmp_path / "report.txt").read_text(encoding="utf-8")
    assert run(*options, "--format", "json", "--output", tmp_path / "report.json") == ""
    assert json.loads((tmp_path / "report.json").read_text())["config"]["metrics"] == ["chrf"]


def test_a_failure_leaves_an_earlier_report_alone(texts: Path, tmp_path: Path) -> None:
    (tmp_path / "report").write_text("earlier")
    files = ("--hypotheses", texts / "good.txt", "--reference", texts / "ref.txt", "--output", tmp_path / "report")
    assert "code 1" in fails(*files, "--metric", "bleu", "--comet-command", "false {hypothesis}")
    assert [path.name for path in tmp_path.iterdir()] == ["report"]
    assert (tmp_path / "report").read_text() == "earlier"


def test_randomization_can_be_chosen_and_comparing_left_out(texts: Path) -> None:
    options = ["--reference", texts / "ref.txt", "--metric", "bleu"]
    for name in ("good", "bad"):
        options += ["--hypotheses", f"{name}={texts / name}.txt"]
    assert record(*options, "--paired", "randomization")["sets"][0]["comparison"]["test"] == "randomization"
    assert record(*options, "--paired", "none")["sets"][0]["comparison"] is None


def test_a_file_with_an_equals_sign_is_a_file(texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t=4.txt").write_bytes((texts / "good.txt").read_bytes())
    found = record("--hypotheses", "t=4.txt", "--reference", texts / "ref.txt", "--metric", "bleu")
    assert found["sets"][0]["systems"][0]["name"] == "t=4.txt"


def test_what_is_wrong_with_files_gets_a_sentence(texts: Path, tmp_path: Path) -> None:
    short, empty = tmp_path / "short.txt", tmp_path / "empty.txt"
    short.write_text("one line\n")
    empty.write_text("")
    good, ref = texts / "good.txt", texts / "ref.txt"
    lines = "they need the same number of lines"
    assert f"{short} has 1 lines and {ref} has 50; {lines}" in fails("--hypotheses", short, "--reference", ref)
    assert f"{short} has 1 lines and {ref} has 50; {lines}" in fails(
        "--hypotheses", good, "--reference", ref, "--reference", short
    )
    assert f"{short} has 1 lines and {ref} has 50; {lines}" in fails(
        "--hypotheses", good, "--reference", ref, "--source", short
    )
    assert "is empty" in fails("--hypotheses", empty, "--reference", empty)
    assert "cannot be read: No such file" in fails("--hypotheses", tmp_path / "none", "--reference", ref)
    assert "cannot be read: No such file" in fails("--hypotheses", good, "--reference", tmp_path / "none")
    assert "nothing to score" in fails("--reference", ref)
    assert "nothing to score against" in fails("--hypotheses", good)
    assert "cannot be written: No such file" in fails(
        "--hypotheses", good, "--reference", ref, "--output", tmp_path / "none" / "report"
    )
    assert "NAME=FILE" in fails("--hypotheses", "name=", "--reference", ref)


def test_what_is_wrong_with_choices_gets_a_sentence(texts: Path, data: Path, cmlm_folder: Path) -> None:
    files = ("--hypotheses", texts / "good.txt", "--reference", texts / "ref.txt")
    assert "no metric 'blue'" in fails(*files, "--metric", "blue")
    assert "no normalization 'xx'" in fails(*files, "--normalize", "xx")
    assert "its last line: out of memory" in fails(
        *files, "--metric", "bleu", "--comet-command", "sh -c 'echo out of memory; exit 9' {hypothesis}"
    )
    assert "--data" in fails(*files, "--split", "test")
    assert "--data, or --source and --reference" in fails(*files, "--data", data)
    assert "name it with --split" in fails("--hypotheses", texts / "good.txt", "--data", data)
    assert "has no split 'test.news'" in fails("--model", cmlm_folder, "--data", data, "--split", "test.news")
    assert "does not hold the text of train" in fails("--model", cmlm_folder, "--data", data, "--split", "train")
    assert "beam_size is not a setting of cmlm models" in fails(
        "--model", cmlm_folder, "--data", data, "--beam-size", 2
    )
    assert "is no setting" in fails("--model", f"{cmlm_folder},fast", "--data", data)
    assert "two systems would be saved under one name" in fails(
        *files, "--hypotheses", f"a b={texts}/good.txt", "--hypotheses", f"a-b={texts}/bad.txt",
        "--save-translations", data.parent / "saved",
    )  # fmt: skip


def test_a_model_can_have_a_judge(cmlm_folder: Path, autoregressive_folder: Path, data: Path) -> None:
    model = f"alone={cmlm_folder},iterations=2"
    judged = f"judged={cmlm_folder},iterations=2,judge={autoregressive_folder}"
    result = record("--model", model, "--model", judged, "--data", data, "--split", "test.long", "--metric", "bleu")
    alone, chosen = result["sets"][0]["systems"]
    assert "judge" not in alone["origin"]
    assert chosen["origin"]["judge"] == str(autoregressive_folder)
    assert chosen["scores"][0]["score"] > alone["scores"][0]["score"]
