"""Translations are made once, whoever asks for them, and an interruption loses nothing that was finished."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from maskpredict import Translator
from maskpredict.corpus.dataset import Dataset
from maskpredict.errors import UserError
from maskpredict.paper.finding import setup_of
from maskpredict.paper.run import analyze
from maskpredict.paper.study import Study
from maskpredict.paper.translations import WINDOW, Stopped

MakeStudy = Callable[..., Study]


@pytest.fixture(scope="session")
def many(make_data: Callable[[list[str]], Path], sentences: list[str]) -> Path:
    """A test set of more than one window: the short sentences over and over."""
    return make_data([sentences[number % 40] for number in range(WINDOW + 20)])


def files(study: Study) -> list[Path]:
    return sorted((study.texts / "translations").iterdir())


def stop_after(looks: int) -> Callable[[], bool]:
    """Says stop at the look after so many."""
    answers: Iterator[bool] = iter([False] * looks)
    return lambda: next(answers, True)


def test_translations_are_those_of_the_translator(make_study: MakeStudy, cmlm_folder: Path, data: Path) -> None:
    found = make_study().mask_predict(4, 2)
    texts = Dataset(data).split("test").texts
    assert texts is not None
    wanted = Translator(cmlm_folder, device="cpu", compute_type="float32").translate(
        texts.source, raw=True, iterations=4, length_candidates=2
    )
    assert found.translations == wanted
    assert found.seconds is None


def test_what_was_translated_is_not_translated_again(make_study: MakeStudy) -> None:
    study = make_study()
    study.mask_predict(1, 1)
    (path,) = files(study)
    path.write_text(path.read_text().replace('"text": "', '"text": "kept '))
    assert all(text.startswith("kept ") for text in make_study().mask_predict(1, 1).texts)


def test_one_run_gives_the_translations_with_fewer_length_candidates(
    make_study: MakeStudy, cmlm_folder: Path, data: Path
) -> None:
    study = make_study()
    study.mask_predict(3, 9)
    made = {path.name for path in files(study)}
    translator = Translator(cmlm_folder, device="cpu", compute_type="float32")
    texts = Dataset(data).split("test").texts
    assert texts is not None
    several = []
    for candidates in range(1, 10):
        found = study.mask_predict(3, candidates)
        wanted = translator.translate(texts.source, raw=True, iterations=3, length_candidates=candidates)
        assert found.texts == [translation.text for translation in wanted]
        assert [each.lengths for each in found.translations] == [each.lengths for each in wanted]
        assert [each.score for each in found.translations] == pytest.approx([each.score for each in wanted])
        several.append(found.texts)
    assert len(set(map(tuple, several))) > 1, "length candidates make no difference"
    assert sum("num_hypotheses-9" in path.name for path in files(study)) == 1
    assert not any("num_hypotheses" in path.name for path in files(study) if path.name not in made)


def test_a_line_translated_in_pieces_is_translated_again_with_fewer_candidates(
    make_study: MakeStudy, make_data: Callable[[list[str]], Path], cmlm_folder: Path, sentences: list[str]
) -> None:
    lines = [sentences[0], " ".join(["bane"] * 90) + "."]
    study = make_study(data=make_data(lines))
    study.mask_predict(2, 5)
    wanted = Translator(cmlm_folder, device="cpu", compute_type="float32").translate(
        lines, raw=True, iterations=2, length_candidates=2
    )
    assert study.mask_predict(2, 2).texts == [translation.text for translation in wanted]


@pytest.mark.parametrize(
    "settings", [{"stop_when_stable": True}, {"threshold": 0.9}, {"length_weight": 0.5}, {"strategy": "random_order"}]
)
def test_other_decoding_takes_nothing_from_the_papers(make_study: MakeStudy, settings: dict[str, object]) -> None:
    study = make_study()
    study.mask_predict(3, 5)
    study.translate("model", {"iterations": 3, "length_candidates": 2, **settings})
    assert len([path for path in files(study) if "num_hypotheses" in path.name]) == 1
    (own,) = (path for path in files(study) if next(iter(settings)) in path.name)
    assert '"hypotheses"' not in own.read_text()


def move_elsewhere(study: Study) -> None:
    """Have all translations made so far come from another machine."""
    for path in files(study):
        head, rest = path.read_text(encoding="utf-8").split("\n", 1)
        there = {**json.loads(head), "machine": {"device": "a large GPU", "torch": "9.9"}}
        path.write_text(f"{json.dumps(there)}\n{rest}", encoding="utf-8")


def test_what_was_translated_elsewhere_says_so(make_study: MakeStudy) -> None:
    study = make_study()
    study.mask_predict(2, 1)
    move_elsewhere(study)
    again = make_study()
    again.mask_predict(2, 1)
    assert (setup_of(again).device, setup_of(again).versions["torch"]) == ("a large GPU", "9.9")
    again.mask_predict(3, 1)
    assert setup_of(again).device.startswith("a large GPU and cpu")


def test_an_analysis_says_where_its_own_translations_were_made(make_study: MakeStudy) -> None:
    study = make_study()
    study.mask_predict(1)
    move_elsewhere(study)
    analyze(make_study(), ["length_head", "figure1"])
    there, here = (json.loads((study.out / f"{name}.json").read_text()) for name in ("length_head", "figure1"))
    assert there["setup"]["device"] == "a large GPU"
    assert here["setup"]["device"].startswith("cpu")


@pytest.mark.parametrize(
    "change",
    [
        lambda study: study.mask_predict(2, 1),
        lambda study: study.mask_predict(1, 2),
        lambda study: study.mask_predict(1, 1, gold_length=True),
        lambda study: study.mask_predict(1, 1, first=3),
        lambda study: study.mask_predict(1, 1, timed=True, batch=2, batch_type="examples"),
        lambda study: study.translate("raw", {"iterations": 1, "length_candidates": 1}),
    ],
    ids=["passes", "candidates", "gold", "first", "timed", "role"],
)
def test_other_orders_are_other_translations(
    make_study: MakeStudy, cmlm_folder: Path, change: Callable[[Study], object]
) -> None:
    study = make_study({"raw": cmlm_folder})
    study.mask_predict(1, 1)
    change(study)
    assert len([path for path in files(study) if "num_hypotheses" not in path.name]) == 2


def test_other_sentences_and_other_weights_are_other_translations(
    make_study: MakeStudy, autoregressive_folder: Path
) -> None:
    for study in (
        make_study({"teacher": autoregressive_folder}),
        make_study({"teacher": autoregressive_folder}, limit=3),
    ):
        study.translate("teacher", {"beam_size": 1})
    assert len(files(study)) == 2


def test_an_interrupted_order_goes_on_where_it_stopped(make_study: MakeStudy, many: Path, tmp_path: Path) -> None:
    whole = make_study(data=many, texts=tmp_path / "whole").mask_predict(1, 1).texts
    interrupted = make_study(data=many, stop=stop_after(1))
    with pytest.raises(Stopped):
        interrupted.mask_predict(1, 1)
    (partial,) = files(interrupted)
    lines = partial.read_text().splitlines()
    assert len(lines) == WINDOW
    marked = [line.replace('"text": "', '"text": "kept ') for line in lines]
    partial.write_text("\n".join(marked) + '\n{"text": "half a l')
    continued = make_study(data=many).mask_predict(1, 1).texts
    assert continued == [f"kept {text}" for text in whole[:WINDOW]] + whole[WINDOW:]
    assert [path.suffix for path in files(interrupted)] == [".jsonl"]


def test_nothing_is_begun_when_the_time_is_over(make_study: MakeStudy) -> None:
    study = make_study(stop=lambda: True)
    with pytest.raises(Stopped):
        study.mask_predict(1)
    assert not study.texts.exists()


def test_gold_lengths_are_those_of_the_references(make_study: MakeStudy) -> None:
    study = make_study()
    found = study.mask_predict(2, 1, gold_length=True).translations
    assert [len(translation.tokens) for translation in found] == [len(ids) + 1 for ids in study.target_ids()]


def test_a_sentence_too_long_to_be_treated_as_a_whole_does_not_stop_gold_lengths(
    make_study: MakeStudy, make_data: Callable[[list[str]], Path], sentences: list[str]
) -> None:
    study = make_study(data=make_data([sentences[0], " ".join(["bane"] * 90) + "."]))
    short, long = study.mask_predict(1, 1, gold_length=True).translations
    assert len(short.tokens) == len(study.target_ids()[0]) + 1
    assert long.text


def test_a_clock_runs_when_asked(make_study: MakeStudy) -> None:
    found = make_study().mask_predict(1, timed=True, batch=10, batch_type="examples")
    assert found.seconds is not None
    assert found.seconds > 0
    assert found.texts == make_study().mask_predict(1).texts


def test_a_model_that_is_missing_broken_or_of_other_languages_gives_its_reason(
    make_study: MakeStudy, tmp_path: Path, cmlm_folder: Path
) -> None:
    (tmp_path / "empty").mkdir()
    study = make_study({"raw": tmp_path / "nowhere", "small": tmp_path / "empty"})
    for role, reason in (
        ("teacher", "no teacher model was given"),
        ("raw", "mask-predict, raw text: there is no model folder"),
        ("small", "so it is not a model folder"),
    ):
        with pytest.raises(UserError, match=reason):
            study.translate(role, {})
