"""`maskpredict demo`: the shipped models play their passes, and the toy model is trained on request."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from maskpredict import Translator, UserError
from maskpredict.cli import app
from maskpredict.demo import ITERATIONS, LENGTH_CANDIDATES, NEXT, SCENES, Scene, demo
from maskpredict.runtime import find_model


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["demo", *map(str, arguments)], catch_exceptions=False)


def lines_after(label: str, shown: str) -> list[str]:
    """What stands behind a label of the player, as in `t = 4`, sentence by sentence."""
    return [line.removeprefix(label).strip() for line in shown.splitlines() if line.startswith(f"{label} ")]


def assert_one_sentence(result: Result, *said: str) -> None:
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    for words in said:
        assert words in result.stderr


def test_every_sentence_of_every_scene_is_played_in_four_passes(cmlm_folder: Path, sentences: list[str]) -> None:
    output = io.StringIO()
    scenes = [Scene("Small words", cmlm_folder, (*sentences[:2],)), Scene("More", cmlm_folder, (*sentences[-3:],))]
    demo(scenes, console=Console(file=output, width=100))
    shown = output.getvalue()
    assert lines_after("source", shown) == [*sentences[:2], *sentences[-3:]]
    assert [len(lines_after(f"t = {number}", shown)) for number in range(6)] == [5, 5, 5, 5, 5, 0]
    assert shown.index("Small words, model cmlm") < shown.index(sentences[0]) < shown.index("More, model cmlm")
    assert shown.endswith(f"\n{NEXT}\n")


def test_the_last_line_of_a_sentence_is_its_translation(cmlm_folder: Path, sentences: list[str]) -> None:
    output = io.StringIO()
    demo([Scene("Small words", cmlm_folder, (*sentences[:5],))], console=Console(file=output, width=100))
    translator = Translator(cmlm_folder, device="cpu")
    translated = translator.translate(sentences[:5], iterations=ITERATIONS, length_candidates=LENGTH_CANDIDATES)
    shown = [line.partition(" ·")[0] for line in lines_after("t = 4", output.getvalue())]
    assert shown == [translation.text for translation in translated]


def test_the_sentences_are_varied_and_fit_a_line() -> None:
    sentences = [sentence for scene in SCENES for sentence in scene.sentences]
    assert [len(scene.sentences) for scene in SCENES] == [5, 5]
    assert len(set(sentences)) == 10
    assert all(8 <= len(sentence.split()) <= 16 for sentence in sentences)


def test_a_missing_model_is_named_before_anything_is_played(cmlm_folder: Path, tmp_path: Path) -> None:
    output = io.StringIO()
    scenes = [Scene("There", cmlm_folder, ("luri.",)), Scene("Not there", tmp_path / "xx-yy", ("luri.",))]
    with pytest.raises(UserError, match=r"the model .*xx-yy did not come"):
        demo(scenes, console=Console(file=output))
    assert output.getvalue() == ""


def test_without_the_shipped_models_one_sentence_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find_model, "SHIPPED", tmp_path)
    assert_one_sentence(run(), "the model de-en-shallow did not come", "maskpredict demo --toy")


def test_the_shipped_models_translate_ten_sentences() -> None:
    result = run()
    assert result.exit_code == 0, result.stderr
    translations = lines_after("t = 4", result.stdout)
    assert lines_after("source", result.stdout) == [sentence for scene in SCENES for sentence in scene.sentences]
    assert len(translations) == 10
    english, german = " ".join(translations[:5]), " ".join(translations[5:])
    assert all(word in english for word in ("children", "President", "umbrella", "number", "Commission"))
    assert all(word in german for word in ("Schwester", "Mädchen", "Zug", "Bericht"))


def test_the_toy_demo_keeps_its_corpus_and_model_in_the_folder(tmp_path: Path) -> None:
    result = run("--toy", tmp_path / "toy", "steps=5")
    assert result.exit_code == 0, result.stderr
    assert len(lines_after("source", result.stdout)) == 5
    assert "500 unseen sentences of the toy language" in result.stdout
    assert (tmp_path / "toy" / "corpus" / "train.src").exists()
    assert (tmp_path / "toy" / "run" / "model" / "config.json").exists()


def test_a_folder_without_toy_is_a_mistake(tmp_path: Path) -> None:
    assert_one_sentence(run(tmp_path / "mine"), "maskpredict demo --toy", str(tmp_path / "mine"))
    assert not (tmp_path / "mine").exists()
