"""Systems on test sets through the library: models and files, several sets, everything wrong noticed in time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from maskpredict import Translator
from maskpredict.errors import UserError
from maskpredict.evaluate.reference_set import Lines, ReferenceSet, set_from_files
from maskpredict.evaluate.run import ScoringConfig, evaluate
from maskpredict.evaluate.scores import score_corpus
from maskpredict.evaluate.systems import HypothesisFile, ModelSystem, SystemOutput
from maskpredict.languages import Languages
from maskpredict.progress import Progress

QUICK = ScoringConfig(metrics=("bleu",), confidence=50)


@pytest.fixture
def toy_set(sentences: list[str], expected: Callable[[str], str]) -> ReferenceSet:
    """Sources of the toy language with their right translations."""
    sources = sentences[:40]
    targets = [expected(source) for source in sources]
    return ReferenceSet("toy", (Lines("targets", targets),), Lines("sources", sources), "yy", Languages("xx", "yy"))


@pytest.fixture(scope="module")
def translator(cmlm_folder: Path) -> Translator:
    return Translator(cmlm_folder)


def test_a_model_is_scored_by_what_it_translates(translator: Translator, toy_set: ReferenceSet) -> None:
    assert toy_set.source is not None
    evaluation = evaluate([ModelSystem(translator, "own", iterations=2)], [toy_set], QUICK)
    ((found,),) = (result.systems for result in evaluation.sets)
    texts = [one.text for one in translator.translate(toy_set.source.texts, raw=True, iterations=2)]
    scored = score_corpus(texts, [toy_set.references[0].texts], metrics=["bleu"], confidence=50)
    assert found.translations == texts
    assert found.scores == scored.scores
    assert found.seconds is not None
    assert found.origin["settings"]["iterations"] == 2
    assert found.origin["settings"]["length_candidates"] == 5
    assert (found.origin["system"], found.origin["device"]) == ("cmlm", "cpu")
    assert found.origin["engine"]
    assert found.origin["compute_type"]


def test_more_passes_and_fewer_are_compared(translator: Translator, toy_set: ReferenceSet) -> None:
    systems = [ModelSystem(translator, name, iterations=passes) for name, passes in (("one", 1), ("four", 4))]
    (result,) = evaluate(systems, [toy_set], QUICK).sets
    assert result.comparison is not None
    (difference,) = result.comparison.differences
    one, four = (system.scores[0].score for system in result.systems)
    assert result.comparison.baseline == "one"
    assert difference.system == "four"
    assert difference.difference == pytest.approx(four - one)


def test_normalization_reaches_scores_and_signatures_but_not_the_translations(tmp_path: Path) -> None:
    (tmp_path / "ref").write_text("Știu ce înseamnă această țară mică și frumoasă.\n")
    for name in ("one", "two"):
        (tmp_path / name).write_text("Ştiu ce înseamnă această ţară mică şi frumoasă.\n")
    systems = [HypothesisFile(tmp_path / name, name) for name in ("one", "two")]
    sets = [set_from_files([tmp_path / "ref"])]
    (plain,) = evaluate(systems, sets, QUICK).sets
    (result,) = evaluate(systems, sets, ScoringConfig(metrics=("bleu",), confidence=0, normalize="ro")).sets
    assert plain.systems[0].scores[0].score < 60
    assert result.systems[0].scores[0].score == pytest.approx(100)
    assert result.systems[0].scores[0].signature.endswith("|normalize:ro")
    assert result.systems[0].translations == ["Ştiu ce înseamnă această ţară mică şi frumoasă."]
    assert result.comparison is not None
    assert result.comparison.signatures["bleu"].endswith("|normalize:ro")


def test_the_record_holds_all_but_the_translations(texts: Path) -> None:
    systems = [HypothesisFile(texts / f"{name}.txt", name) for name in ("good", "bad")]
    sets = [set_from_files([texts / "ref.txt", texts / "another.txt"])]
    record = json.loads(json.dumps(evaluate(systems, sets, QUICK).to_dict()))
    (result,) = record["sets"]
    assert (result["name"], result["sentences"], result["references"]) == ("ref.txt", 50, 2)
    assert result["systems"][0].keys() == {"name", "origin", "seconds", "scores"}
    assert result["systems"][0]["scores"][0].keys() == {"metric", "title", "score", "signature", "confidence"}
    assert result["comparison"]["differences"][0].keys() == {"system", "metric", "difference", "p_value"}
    assert record["versions"].keys() == {"maskpredict", "python", "sacrebleu", "onnxruntime", "torch"}
    assert record["config"]["metrics"] == ["bleu"]


def test_the_outside_score_stands_beside_the_others(texts: Path) -> None:
    config = ScoringConfig(metrics=("ter",), confidence=0, comet_command="echo {hypothesis} {reference} 0.25")
    (result,) = evaluate([HypothesisFile(texts / "good.txt")], [set_from_files([texts / "ref.txt"])], config).sets
    assert [(score.title, score.confidence) for score in result.systems[0].scores] == [("TER", None), ("COMET", None)]
    assert result.systems[0].scores[1].score == 0.25


def test_the_outside_program_can_read_the_sources(tmp_path: Path) -> None:
    for name, text in (("source", "one\ntwo\n"), ("ref", "eins\nzwei\n"), ("hyp", "eins\nzwo\n")):
        (tmp_path / name).write_text(text)
    reference_set = set_from_files([tmp_path / "ref"], tmp_path / "source")
    command = "sh -c 'cat $0 | wc -c' {source} {hypothesis}"
    config = ScoringConfig(metrics=("ter",), confidence=0, comet_command=command)
    (result,) = evaluate([HypothesisFile(tmp_path / "hyp")], [reference_set], config).sets
    assert result.systems[0].scores[1].score == len("one\ntwo\n")


def test_a_file_is_called_by_its_path_unless_it_has_a_name(texts: Path) -> None:
    path = texts / "good.txt"
    (result,) = evaluate([HypothesisFile(path), HypothesisFile(path, "mine")], [set_from_files([path])], QUICK).sets
    assert [system.name for system in result.systems] == [str(path), "mine"]
    assert [system.origin for system in result.systems] == [{"file": str(path)}] * 2
    assert [system.seconds for system in result.systems] == [None, None]


def test_the_time_of_translating_is_measured(translator: Translator, toy_set: ReferenceSet) -> None:
    started = time.perf_counter()
    (result,) = evaluate([ModelSystem(translator, "own", iterations=1)], [toy_set], QUICK).sets
    assert result.systems[0].seconds is not None
    assert 0 < result.systems[0].seconds < time.perf_counter() - started


def test_progress_of_translating_and_scoring_is_shown_if_asked_for(
    translator: Translator,
    toy_set: ReferenceSet,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("maskpredict.progress.SECONDS_BETWEEN_LINES", 0.0)
    systems = [ModelSystem(translator, name, iterations=1) for name in ("one", "two")]
    evaluate(systems, [toy_set], QUICK)
    assert capsys.readouterr().err == ""
    evaluate(systems, [toy_set], QUICK, quiet=False)
    lines = [line.split("  ")[0] for line in capsys.readouterr().err.splitlines()]
    translating = [f"{number} of 40" for number in range(1, 40)] + ["40", "40"]
    assert lines == [
        *(f"Translating toy with {name}: {number}" for name in ("one", "two") for number in translating),
        *("Scoring toy: 1 of 2", "Scoring toy: 2", "Scoring toy: 2"),
    ]


def test_systems_are_scored_and_compared_as_told(texts: Path) -> None:
    systems = [HypothesisFile(texts / f"{name}.txt", name) for name in ("good", "bad")]
    sets = [set_from_files([texts / "ref.txt", texts / "another.txt"])]
    config = ScoringConfig(metrics=("bleu", "chrf"), confidence=20, paired_test="randomization")
    (result,) = evaluate(systems, sets, config).sets
    assert [score.metric for score in result.systems[1].scores] == ["bleu", "chrf"]
    assert all("nrefs:2|" in score.signature for score in result.systems[1].scores)
    assert "|bs:20|" in result.systems[0].scores[0].signature
    assert result.comparison is not None
    assert result.comparison.test == "randomization"
    assert [difference.metric for difference in result.comparison.differences] == ["bleu", "chrf"]
    assert all("nrefs:2|" in signature for signature in result.comparison.signatures.values())
    assert evaluate(systems, sets, replace(config, paired_test="")).sets[0].comparison is None
    assert evaluate(systems[:1], sets, config).sets[0].comparison is None


def test_scores_and_comparisons_use_the_words_of_the_target_language(tmp_path: Path) -> None:
    for name, text in (("ref", "红色的船慢慢过河\n"), ("one", "红色的船过了河\n"), ("two", "红船慢慢过河\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    systems = [HypothesisFile(tmp_path / name, name) for name in ("one", "two")]
    (result,) = evaluate(systems, [set_from_files([tmp_path / "ref"], target_language="zh")], QUICK).sets
    assert result.comparison is not None
    assert "|tok:zh|" in result.systems[0].scores[0].signature
    assert "|tok:zh|" in result.comparison.signatures["bleu"]
    assert result.target_language == "zh"


def test_the_defaults_are_three_metrics_a_thousand_samples_and_a_paired_bootstrap(texts: Path) -> None:
    systems = [HypothesisFile(texts / f"{name}.txt", name) for name in ("good", "bad")]
    (result,) = evaluate(systems, [set_from_files([texts / "ref.txt"])]).sets
    assert [score.metric for score in result.systems[0].scores] == ["bleu", "chrf", "ter"]
    assert all("|bs:1000|" in score.signature for score in result.systems[0].scores)
    assert result.comparison is not None
    assert (result.comparison.test, result.comparison.samples) == ("bootstrap", 1000)


def test_no_system_or_no_test_set_is_nothing_to_score(texts: Path) -> None:
    good, reference_set = HypothesisFile(texts / "good.txt"), set_from_files([texts / "ref.txt"])
    for systems, sets in (([], [reference_set]), ([good], [])):
        with pytest.raises(UserError, match="there is nothing to score; give a model"):
            evaluate(systems, sets, QUICK)


def test_a_model_of_other_languages_is_refused(translator: Translator, toy_set: ReferenceSet) -> None:
    turned = ReferenceSet("toy", toy_set.references, toy_set.source, languages=Languages("yy", "xx"))
    with pytest.raises(UserError, match="own translates xx to yy and toy is yy to xx"):
        evaluate([ModelSystem(translator, "own")], [turned], QUICK)


def test_a_setting_that_the_model_does_not_have_is_refused(autoregressive_folder: Path) -> None:
    with pytest.raises(UserError, match="teacher: iterations is not a setting of autoregressive models"):
        ModelSystem(Translator(autoregressive_folder), "teacher", iterations=4)


def test_a_model_can_be_given_the_size_of_its_batches(translator: Translator, toy_set: ReferenceSet) -> None:
    whole, small = (ModelSystem(translator, "own", iterations=1, max_batch_size=size) for size in (None, 200))
    one, other = (evaluate([system], [toy_set], QUICK).sets[0].systems[0] for system in (whole, small))
    assert one.translations == other.translations
    with pytest.raises(UserError, match="max_batch_size is 0"):
        evaluate([ModelSystem(translator, "own", max_batch_size=0)], [toy_set], QUICK)


def test_systems_need_different_names(texts: Path) -> None:
    systems = [HypothesisFile(texts / f"{name}.txt", "same") for name in ("good", "bad")]
    with pytest.raises(UserError, match="two systems are called same"):
        evaluate(systems, [set_from_files([texts / "ref.txt"])], QUICK)


def test_a_model_needs_sources(translator: Translator, texts: Path) -> None:
    with pytest.raises(UserError, match=r"own has nothing to translate; give the sources of ref\.txt"):
        evaluate([ModelSystem(translator, "own")], [set_from_files([texts / "ref.txt"])], QUICK)


class NeverAsked:
    """A system whose translations nobody may ask for."""

    name = "never asked"

    def check(self, references: ReferenceSet) -> None:
        """Any test set will do."""

    def output(self, references: ReferenceSet, progress: Progress) -> SystemOutput:
        """Must not happen."""
        pytest.fail("translating had begun")


def test_everything_wrong_is_noticed_before_anything_is_translated(
    toy_set: ReferenceSet, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = ScoringConfig(metrics=("bleu",), comet_command="comet-score {model}")
    with pytest.raises(UserError, match="COMET"):
        evaluate([NeverAsked()], [toy_set], config)
    japanese = replace(toy_set, target_language="ja")
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_ja_mecab.MeCab", None)
    with pytest.raises(UserError, match="needs a tokenizer that is not installed"):
        evaluate([NeverAsked()], [japanese], QUICK)
    with pytest.raises(UserError, match=r"good\.txt has 50 lines and targets has 40"):
        evaluate([NeverAsked(), HypothesisFile(texts / "good.txt")], [toy_set], QUICK)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"metrics": ("meteor",)}, "no metric 'meteor'"),
        ({"confidence": 1}, "confidence is 1; give"),
        ({"paired_test": "t"}, "no paired test 't'"),
        ({"normalize": "de"}, "no normalization 'de'"),
    ],
)
def test_a_wrong_choice_gets_a_sentence(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        ScoringConfig(**options)  # type: ignore[arg-type]
