"""Each analysis on the toy model: its numbers are those that other parts of the package, or sacreBLEU, compute."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import sacrebleu

from maskpredict import Translator
from maskpredict.evaluate.repetition import word_repetition
from maskpredict.model.folder import ModelFolder
from maskpredict.model.stored_weights import parameter_count
from maskpredict.model.training_record import TrainingRecord
from maskpredict.paper.analyses import ANALYSES
from maskpredict.paper.analyses import speed_quality as timing
from maskpredict.paper.analyses.calibration import calibration
from maskpredict.paper.analyses.changed_tokens import changed_tokens
from maskpredict.paper.analyses.check_list import check_list
from maskpredict.paper.analyses.distillation import distillation
from maskpredict.paper.analyses.early_exit import early_exit
from maskpredict.paper.analyses.figure1 import PASSES, SENTENCES, figure1
from maskpredict.paper.analyses.int8 import int8_cost
from maskpredict.paper.analyses.length_buckets import length_buckets
from maskpredict.paper.analyses.length_candidates import length_candidates
from maskpredict.paper.analyses.length_head import length_head
from maskpredict.paper.analyses.main_table import main_table
from maskpredict.paper.analyses.repetitions import repetitions
from maskpredict.paper.analyses.speed_quality import speed_quality
from maskpredict.paper.cell import Cell
from maskpredict.paper.check_sentences import CHECK_SENTENCES
from maskpredict.paper.study import Study

MakeStudy = Callable[..., Study]


def bleu(texts: list[str], references: list[str]) -> float:
    return float(sacrebleu.corpus_bleu(texts, [references]).score)


def test_the_main_table_has_scores_where_there_are_models_and_reasons_where_not(
    make_study: MakeStudy, autoregressive_folder: Path, cmlm_folder: Path
) -> None:
    study = make_study({"teacher": autoregressive_folder, "mine": cmlm_folder})
    table = main_table(study)
    keys = [row.key for row in table.rows]
    assert keys == [
        *("fertility.1", "fertility.average", "fertility.1-rescored", "ctc.1"),
        *("refinement.1", "refinement.10", "refinement.dynamic", "insertion.parallel", "insertion.greedy"),
        *("small.1", "small.4", "small.10", "model.1", "model.4", "model.10", "model.4.l2", "model.10.l2"),
        *("model.1-rescored", "model.random"),
        *("baseline.b1", "baseline.b5", "ar_distilled.b5", "mine.default"),
    ]
    translator = Translator(cmlm_folder, device="cpu", compute_type="float32")
    texts = [found.text for found in translator.translate(study._pairs[0], raw=True, iterations=4, length_candidates=5)]
    assert table.bleu("model.4").value == pytest.approx(bleu(texts, study.references), abs=1e-3)
    assert table.bleu("model.4").plus_minus
    texts = [found.text for found in translator.translate(study._pairs[0], raw=True, iterations=4, length_candidates=2)]
    assert table.bleu("model.4.l2").value == pytest.approx(bleu(texts, study.references), abs=1e-3)
    assert table.bleu("baseline.b5").value is not None
    assert table.bleu("small.4") == Cell(reason="no small model was given.")
    assert {row.dimensions for row in table.rows} == {"32/64", ""}
    judged = Translator(
        cmlm_folder, device="cpu", compute_type="float32", judge=autoregressive_folder, judge_alone=True
    )
    texts = [one.text for one in judged.translate(study._pairs[0], raw=True, iterations=1, length_candidates=5)]
    assert table.bleu("model.1-rescored").value == pytest.approx(bleu(texts, study.references), abs=1e-3)
    assert table.bleu("model.1-rescored") != table.bleu("model.1")
    assert table.bleu("fertility.1-rescored") == Cell(reason="no fertility model was given.")


def test_one_pass_is_not_rescored_without_a_teacher(make_study: MakeStudy) -> None:
    table = main_table(make_study())
    assert table.bleu("model.1").value is not None
    assert table.bleu("model.1-rescored") == Cell(reason="no teacher model was given.")


def test_the_main_table_says_how_large_models_are_and_how_they_were_trained(
    make_study: MakeStudy, cmlm_folder: Path, tmp_path: Path
) -> None:
    study = make_study({"small": recorded(cmlm_folder, tmp_path / "recorded")})
    rows = {row.key: row for row in main_table(study).rows}
    parameters = parameter_count(ModelFolder.read(cmlm_folder).weights)
    assert (rows["model.4"].parameters, rows["model.4"].start, rows["model.4"].target_tokens) == (parameters, "", None)
    assert (rows["small.4"].start, rows["small.4"].target_tokens) == ("autoregressive 0a1b2c3d", 7_654_321)
    assert rows["ctc.1"].parameters is None
    lengths = [len(one.tokens) for one in study.translate("model", rows["model.random"].settings).translations]
    assert rows["model.random"].mean_passes == pytest.approx(sum(lengths) / len(lengths), abs=0.01)
    assert rows["model.4"].mean_passes is None
    table = ANALYSES["main_table"].table(main_table(study))
    assert [column.title for column in table.columns[4:]] == ["mean passes", "parameters", "start", "target tokens"]
    (small,) = (row for row in table.rows if row[0] == "small mask-predict" and row[2] == "4")
    assert small[4:] == ("", f"{parameters / 1e6:.1f} M", "autoregressive 0a1b2c3d", "7.7 M")
    (unrecorded,) = (row for row in table.rows if row[0] == "mask-predict" and row[2] == "4")
    assert unrecorded[5:] == (f"{parameters / 1e6:.1f} M", "not recorded", "not recorded")
    (missing,) = (row for row in table.rows if row[0] == "CTC")
    assert missing[5:] == ("", "", "")


def recorded(folder: Path, copy: Path) -> Path:
    """A copy of a model whose folder says how it was trained."""
    training = TrainingRecord("autoregressive 0a1b2c3d", 400, 7_654_321, "last")
    replace(ModelFolder.read(folder), training=training).write(copy)
    return copy


def test_a_baseline_takes_the_teachers_place_in_the_main_table(
    make_study: MakeStudy, autoregressive_folder: Path
) -> None:
    study = make_study({"teacher": autoregressive_folder, "baseline": autoregressive_folder})
    keys = [row.key for row in main_table(study).rows]
    assert keys[-4:] == ["baseline.b1", "baseline.b5", "teacher.b5", "ar_distilled.b5"]


def test_repetitions_are_those_of_the_translations(make_study: MakeStudy) -> None:
    study = make_study()
    found = repetitions(study)
    assert [row.passes for row in found.rows] == [1, 2, 3, 4, 5, 10]
    assert found.row(2).words.value == pytest.approx(word_repetition(study.mask_predict(2).texts), abs=1e-4)
    assert found.row(2).bleu.value == pytest.approx(bleu(study.mask_predict(2).texts, study.references), abs=1e-3)


@pytest.fixture
def recommending_folder(cmlm_folder: Path, tmp_path: Path) -> Path:
    """The toy model in a folder that recommends to leave out unlikely lengths."""
    folder = Path(shutil.copytree(cmlm_folder, tmp_path / "recommending"))
    path = folder / "generation.json"
    generation = {**json.loads(path.read_text()), "iterations": 2, "length_threshold": 0.9, "length_weight": 5.0}
    path.write_text(json.dumps(generation))
    return folder


def test_the_papers_tables_try_exactly_the_lengths_they_name_whatever_the_folder_recommends(
    make_study: MakeStudy, recommending_folder: Path, tmp_path: Path
) -> None:
    plain = make_study()
    recommending = make_study({"model": recommending_folder}, texts=tmp_path / "others")
    assert recommending.mask_predict(3, 9).translations == plain.mask_predict(3, 9).translations
    assert distillation(recommending).row(4).distilled == distillation(plain).row(4).distilled


def test_the_main_table_also_shows_a_model_as_its_folder_says(make_study: MakeStudy, recommending_folder: Path) -> None:
    study = make_study({"model": recommending_folder})
    texts = [found.text for found in Translator(recommending_folder, device="cpu").translate(study._pairs[0], raw=True)]
    assert main_table(study).bleu("model.folder").value == pytest.approx(bleu(texts, study.references), abs=1e-3)
    assert "model.folder" not in [row.key for row in main_table(make_study()).rows]


def test_buckets_hold_the_sentences_of_their_lengths(make_study: MakeStudy) -> None:
    study = make_study()
    found = length_buckets(study)
    assert [row.name for row in found.rows] == ["[1, 10)", "[10, 20)", "[20, 30)", "[30, 40)", "[40, ∞)"]
    # A full stop is a word of its own to BLEU.
    rows = [number for number, text in enumerate(study.references) if 10 <= len(text.split()) + 1 < 20]
    assert 0 < len(rows) == found.rows[1].sentences
    texts = study.mask_predict("N", 1).texts
    wanted = bleu([texts[row] for row in rows], [study.references[row] for row in rows])
    assert found.rows[1].bleu["N"].value == pytest.approx(wanted, abs=1e-3)
    assert found.rows[4].bleu["4"] == Cell(reason="no reference has such a length.")


def test_compare_mt_finds_its_files_and_its_command(make_study: MakeStudy) -> None:
    study = make_study()
    length_buckets(study)
    folder = study.texts / "compare-mt"
    assert {path.name for path in folder.iterdir()} == {"reference.txt", "T-4.txt", "T-10.txt", "T-N.txt", "run.sh"}
    lines = (folder / "reference.txt").read_text().splitlines()
    assert lines == [text.removesuffix(".") + " ." for text in study.references]
    assert "reference.txt T-4.txt T-10.txt T-N.txt --sys_names T-4 T-10 T-N" in (folder / "run.sh").read_text()
    assert "bucket_cutoffs=10:20:30:40" in (folder / "run.sh").read_text()


def test_more_candidates_find_the_right_length_more_often(make_study: MakeStudy) -> None:
    found = length_candidates(make_study())
    precision = [row.precision.value or 0 for row in found.rows]
    assert [row.candidates for row in found.rows] == list(range(1, 10))
    assert precision == sorted(precision)
    assert 0 < precision[0] <= 1
    assert found.gold.value is not None


def test_raw_and_distilled_stand_side_by_side(make_study: MakeStudy, cmlm_folder: Path) -> None:
    alone, both = distillation(make_study()), distillation(make_study({"raw": cmlm_folder}))
    assert [row.raw for row in alone.rows] == [Cell(reason="no raw model was given.")] * 3
    assert (
        [row.raw for row in both.rows] == [row.distilled for row in both.rows] == [row.distilled for row in alone.rows]
    )


def test_the_example_marks_what_the_next_pass_masks(make_study: MakeStudy) -> None:
    found = figure1(make_study(figure1="luri tisa kone bamo."))
    assert found.reason == ""
    length = len(found.passes[0])
    masked = [sum(token.masked for token in step) for step in found.passes]
    assert masked == [length * (PASSES - t) // PASSES for t in range(1, PASSES)] + [0]


def test_without_a_sentence_of_the_language_there_is_no_example(make_study: MakeStudy) -> None:
    assert figure1(make_study()).reason == "no sentence of xx comes with the package; give one."


def test_german_and_english_sentences_come_with_the_package(
    make_study: MakeStudy, make_data: Callable[..., Path], cmlm_folder: Path, tmp_path: Path
) -> None:
    model = Path(shutil.copytree(cmlm_folder, tmp_path / "de-en"))
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "languages": {"source": "de", "target": "en"}}))
    found = figure1(make_study({"model": model}, data=make_data(["bane."], ("de", "en"))))
    assert found.source == SENTENCES["de"]
    assert SENTENCES.keys() == {"de", "en"}


def test_the_check_list_counts_what_survives_in_each_system(
    make_study: MakeStudy, make_data: Callable[..., Path], cmlm_folder: Path, tmp_path: Path
) -> None:
    assert check_list(make_study()).reason == "no sentences from xx to yy come with the package."
    model = Path(shutil.copytree(cmlm_folder, tmp_path / "de-en"))
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "languages": {"source": "de", "target": "en"}}))
    study = make_study({"model": model, "raw": tmp_path / "nowhere"}, data=make_data(["bane."], ("de", "en")))
    rows = {row.kind: row for row in check_list(study).rows}
    placeholders = rows["placeholders and addresses"]
    assert placeholders.kept["mask-predict, protected"].value == 1.0
    assert placeholders.kept["mask-predict"].value == 0.0, "a toy model knows none of this"
    assert "there is no model folder" in placeholders.kept["mask-predict, raw text"].reason
    assert sum(row.items for row in rows.values()) == sum(len(own.kept) for own in CHECK_SENTENCES["de", "en"])


@pytest.mark.parametrize("languages", CHECK_SENTENCES)
def test_every_kind_of_sentence_is_checked_in_both_directions(languages: tuple[str, str]) -> None:
    kinds = ["numbers", "dates and times", "names", "negation", "capitals", "very short", "very long"]
    assert list(dict.fromkeys(own.kind for own in CHECK_SENTENCES[languages])) == [*kinds, "placeholders and addresses"]
    sources = {own.source for own in CHECK_SENTENCES[languages]}
    for own in CHECK_SENTENCES[languages]:
        assert own.kept
        assert not any(re.search(wanted, "") for wanted in own.kept)
    others = CHECK_SENTENCES[languages[::-1]]
    assert len(sources) == len(others) == len({own.source for own in others})


def test_calibration_counts_every_subword_that_is_said(make_study: MakeStudy) -> None:
    study = make_study()
    found = calibration(study)
    assert [row.passes for row in found.rows] == [1, 4, 10]
    tokens = sum(len(translation.tokens[:-1]) for translation in study.mask_predict(10, 1).translations)
    assert sum(own.tokens for own in found.rows[2].bins) <= tokens + len(study.references)
    assert all(0 <= (row.error.value or 0) <= 1 for row in found.rows)
    assert found.rows[2].accuracy.value == pytest.approx(
        sum(own.tokens * own.accuracy for own in found.rows[2].bins) / sum(own.tokens for own in found.rows[2].bins),
        abs=1e-3,
    )


def test_passes_change_no_more_than_they_mask(make_study: MakeStudy) -> None:
    rows = changed_tokens(make_study()).rows
    assert [row.number for row in rows] == list(range(2, 11))
    assert all((row.changed.value or 0) <= (row.masked.value or 0) for row in rows)


def test_a_fixed_number_of_passes_takes_that_many_and_an_exit_never_more(make_study: MakeStudy) -> None:
    rows = early_exit(make_study()).rows
    for row in rows:
        assert row.passes.value is not None
        if row.rule == "fixed":
            assert row.passes.value == row.value
        assert 1 <= row.passes.value <= 10
    thresholds = [row.passes.value or 0 for row in rows if row.rule == "threshold"]
    assert thresholds == sorted(thresholds)


def test_int8_is_measured_or_says_why_not(make_study: MakeStudy) -> None:
    found = int8_cost(make_study(limit=3))
    assert found.sentences == 3
    for row in found.rows:
        assert row.full_bleu.value is not None
        for cell in (row.int8_bleu, row.int8_seconds, row.same):
            assert (cell.value is None) == bool(cell.reason)


def test_the_length_head_is_judged_by_length(make_study: MakeStudy) -> None:
    study = make_study()
    rows = length_head(study).rows
    assert rows[0].sentences == sum(row.sentences for row in rows[1:]) == len(study.references)
    precision = length_candidates(study).rows
    assert rows[0].exact.value == pytest.approx(precision[0].precision.value, abs=1e-4)
    assert rows[0].among.value == pytest.approx(precision[4].precision.value, abs=1e-4)


def test_speed_is_measured_against_five_beams_in_the_same_batches(
    make_study: MakeStudy, autoregressive_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make_study({"teacher": autoregressive_folder}, limit=2)
    found = speed_quality(study)
    assert len(found.rows) == (2 + 21) + (2 + 7) + (2 + 7)
    for batch in ("10", "1", "best"):
        baseline = found.beams(5, batch)
        assert baseline.speedup.value == 1
        fast = found.mask_predict(4, 2, batch)
        assert fast.speedup.value == pytest.approx((baseline.seconds.value or 0) / (fast.seconds.value or 1), rel=0.01)
        assert fast.bleu.value is not None
    assert found.device.startswith("cpu")
    assert found.mask_predict(4, 2, "best").batch_tokens in (512, 2_048, 8_192)

    # What another kind of machine has timed is not timed once more.
    monkeypatch.setattr(timing, "BUDGETS", {"cuda": (512, 2_048, 8_192), "cpu": (1,)})
    assert speed_quality(study) == found


def test_an_alignment_model_is_analysed_where_lengths_do_not_matter(
    make_study: MakeStudy, alignment_folder: Path
) -> None:
    study = make_study({"model": alignment_folder}, figure1="luri tisa kone bamo.")
    translator = Translator(alignment_folder, device="cpu", compute_type="float32")
    split = study.dataset.split(study.split).texts
    assert split is not None
    texts = [one.text for one in translator.translate(split.source, iterations=4, raw=True)]
    row = repetitions(study).row(4)
    assert row.bleu.value == pytest.approx(study.score(texts).score, abs=1e-4)
    assert row.words.value == pytest.approx(word_repetition(texts), abs=1e-4)
    assert [main_table(study).bleu(f"model.{passes}").reason for passes in (1, 4, 10)] == ["", "", ""]
    assert [[token.text for token in step] for step in figure1(study).passes][-1].count("_") > 0
    for cell in (length_candidates(study).rows[1].bleu, changed_tokens(study).rows[0].changed):
        assert cell.value is None
    assert "try no lengths" in str(study.bleu(lambda: study.mask_predict(4, 3)).reason)
