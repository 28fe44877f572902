"""The recipes at the scale of the paper: its values, its data, and every stage at a tiny scale."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

import maskpredict
from maskpredict.errors import UserError
from maskpredict.model.config import ModelConfig, preset
from maskpredict.reproduce.dry_run import PlannedModel, dry_run
from maskpredict.reproduce.recipe import Recipe, load_recipe
from maskpredict.training.config import OptimizerConfig

RECIPES = Path(maskpredict.__file__).parent / "recipes"
NAMES = ["wmt14-en-de", "wmt14-de-en", "wmt16-en-ro", "wmt16-ro-en", "wmt17-en-zh", "wmt17-zh-en"]
GPUS = 16


def recipe(name: str) -> Recipe:
    return load_recipe(RECIPES / f"{name}.yaml")


def test_all_six_directions_are_there() -> None:
    assert sorted(path.stem for path in RECIPES.glob("wmt*.yaml")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_stage_runs_at_a_tiny_scale(name: str) -> None:
    plans = {plan.name: plan for plan in dry_run(recipe(name))}
    assert list(plans) == recipe(name).trained
    assert plans["student"].system == "cmlm"
    assert {plan.updates for plan in plans.values()} == {300_000}
    # A base transformer has 44 million parameters beside its embeddings, which are 512 wide.
    assert 60e6 < plans["student"].parameters < 80e6


def test_the_command_says_what_would_be_trained(cli: Callable[..., Result]) -> None:
    result = cli("reproduce", "wmt16-ro-en", "--dry-run")
    assert result.exit_code == 0, result.output
    for words in ("teacher", "student", "small", "300,000", "128,000"):
        assert words in result.stdout
    assert "All stages run with tiny models." in result.stderr


@pytest.mark.parametrize("name", NAMES)
def test_the_values_are_the_papers(name: str) -> None:
    loaded = recipe(name)
    paper = OptimizerConfig(5e-4, 10_000, "inverse_sqrt", 0.9, 0.999, 1e-6, 0.01)
    for model in loaded.trained:
        training = loaded.training(model, Path(), Path())
        shape = preset(training.preset, training.model)
        assert training.optimizer == paper
        assert (training.steps, training.batch.tokens, training.keep_best) == (300_000, 128_000, 5)
        assert (training.label_smoothing, shape.dropout) == (0.1, 0.3)
        assert (shape.norm, shape.activation, shape.encoder_layers) == ("post", "gelu", 6)
        assert training.validation.every is None, "at the end of each epoch"
    assert loaded.distillation(Path(), Path(), Path(), None).beam_size == 5
    assert [own["iterations"] for own in loaded.evaluate.student] == [1, 4, 10]
    assert {own["length_candidates"] for own in loaded.evaluate.student} == {5}


@pytest.mark.parametrize("name", NAMES)
def test_teachers_are_large_but_for_romanian(name: str) -> None:
    loaded = recipe(name)
    sizes = {model: loaded.training(model, Path(), Path()).preset for model in loaded.trained}
    assert sizes["teacher"] == ("base" if "ro" in name else "large")
    assert sizes["student"] == "base"
    assert sizes.get("small", "small") == "small"
    assert {sizes.get(model, "base") for model in ("baseline", "ar_distilled", "raw")} == {"base"}
    assert ("baseline" in sizes) == ("ro" not in name)


@pytest.mark.parametrize("name", NAMES)
def test_sixteen_gpus_share_an_update_evenly(name: str) -> None:
    loaded = recipe(name)
    for model in loaded.trained:
        batch = loaded.training(model, Path(), Path()).batch
        assert batch.tokens % batch.part_tokens == 0
        assert batch.tokens // batch.part_tokens % GPUS == 0


@pytest.mark.parametrize("name", NAMES)
def test_chinese_has_vocabularies_and_embeddings_of_its_own(name: str) -> None:
    loaded = recipe(name)
    assert loaded.vocabulary.joint == ("zh" not in name)
    wanted = "target" if "zh" in name else ModelConfig().embeddings
    for model in loaded.trained:
        training = loaded.training(model, Path(), Path())
        assert preset(training.preset, training.model).embeddings == wanted


@pytest.mark.parametrize("name", NAMES)
def test_romanian_is_normalized_for_scoring(name: str) -> None:
    assert recipe(name).evaluate.normalize == ("ro" if name == "wmt16-en-ro" else "")


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_says_how_to_get_its_data_and_reads_what_mtdata_leaves(name: str) -> None:
    text = (RECIPES / f"{name}.yaml").read_text(encoding="utf-8")
    loaded = recipe(name)
    folder, source, target = name.split("-")
    assert re.search(rf"^#   mtdata get -l eng-\w+ --merge -o {folder} ", text, re.MULTILINE)
    assert f"#   maskpredict reproduce {name} --data {folder} --stage prepare\n" in text
    assert "torchrun --nnodes 2 --nproc-per-node 8" in text
    assert (loaded.source_language, loaded.target_language) == (source, target)
    # mtdata names languages by three letters, and leaves train.*, dev.* and tests/ID.*
    assert loaded.endings.keys() == {source, target}
    assert all(len(ending) == 3 for ending in loaded.endings.values())
    assert loaded.train[0].stem == "train"
    assert loaded.valid[0].stem == "dev"
    (test,) = loaded.test
    assert test.stem.startswith("tests/Statmt-newstest")
    assert f"-ts {test.stem.removeprefix('tests/')}" in " ".join(loaded.where.split())


def test_a_missing_file_is_named_as_mtdata_names_it(cli: Callable[..., Result], tmp_path: Path) -> None:
    result = cli("reproduce", "wmt14-en-de", "--work", tmp_path / "work", "--data", tmp_path)
    assert result.exit_code == 2
    assert f"{tmp_path}/train.eng is missing; get it with `mtdata get -l eng-deu" in result.stderr


@pytest.mark.parametrize("pair", ["wmt14-{}-{} en de", "wmt16-{}-{} en ro", "wmt17-{}-{} en zh"])
def test_two_directions_train_alike(pair: str) -> None:
    pattern, one, other = pair.split()
    there, back = recipe(pattern.format(one, other)), recipe(pattern.format(other, one))
    for name in ("train", "cleaning", "vocabulary", "teacher", "distill", "student", "endings", "analyze"):
        assert getattr(there, name) == getattr(back, name)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("vocabulary.joint=false", "the vocabularies are separate: set model.embeddings"),
        ("student.batch.max_length=600", "batch.max_length is 600; it must be below model.max_positions (512)"),
        ("evaluate.student=[{itertions: 4}]", "itertions is not a setting of cmlm models"),
    ],
)
def test_a_dry_run_finds_what_would_go_wrong_after_weeks(change: str, sentence: str) -> None:
    with pytest.raises(UserError, match=re.escape(sentence)):
        dry_run(load_recipe(RECIPES / "wmt14-en-de.yaml", [change]))


def test_a_plan_is_in_full_size() -> None:
    (teacher, *_) = dry_run(load_recipe(RECIPES / "toy.yaml"))
    assert teacher == PlannedModel("teacher", "autoregressive", teacher.parameters, 150, None, 256, 256, "raw")
    assert 500_000 < teacher.parameters < 1_000_000


@pytest.mark.parametrize("name", ["de-en-broad", "en-de-broad"])
def test_broad_recipes_run_at_a_tiny_scale_with_an_alignment_student(name: str) -> None:
    plans = {plan.name: plan for plan in dry_run(recipe(name))}
    assert list(plans) == ["teacher", "student", "ctc", "glancing", "partial", "cmlm"]
    assert [plan.system for plan in plans.values()] == [
        "autoregressive",
        "alignment",
        "ctc",
        *2 * ["alignment"],
        "cmlm",
    ]


SMALL_PAIRS = ["en-ro-broad", "ro-en-broad", "en-zh-broad", "zh-en-broad"]


@pytest.mark.parametrize("name", SMALL_PAIRS)
def test_recipes_on_small_text_run_at_a_tiny_scale_with_every_row_of_the_papers_tables(name: str) -> None:
    plans = {plan.name: plan for plan in dry_run(recipe(name))}
    assert {"teacher", "student", "small", "raw", "ar_distilled", "fertility", "ctc", "refinement"} <= plans.keys()
    assert "insertion" in plans
    assert {plan.updates * plan.tokens for plan in plans.values()} == {plans["teacher"].updates * 32_768}
    assert {model: plan.data for model, plan in plans.items() if plan.data == "raw"}.keys() <= {
        *("teacher", "raw", "baseline"),
    }


@pytest.mark.parametrize("name", SMALL_PAIRS)
def test_systems_on_small_text_start_and_end_alike(name: str) -> None:
    loaded = recipe(name)
    trainings = {model: loaded.training(model, Path(), Path()) for model in loaded.trained}
    assert {(training.start_from, training.keep_best) for training in trainings.values()} == {(None, 0)}
    assert len({str(training.optimizer) for training in trainings.values()}) == 1
    hidden = {model: preset(training.preset, training.model).hidden for model, training in trainings.items()}
    assert (hidden["small"], hidden["ctc"], hidden["fertility"], hidden["refinement"]) == (512, 4096, 512, 512)
    assert {training.seed for training in trainings.values()} == {1, 2}


@pytest.mark.parametrize("name", SMALL_PAIRS)
def test_no_model_learns_raw_machine_translation(name: str) -> None:
    loaded = recipe(name)
    for model in loaded.trained:
        weights = loaded.training(model, Path(), Path()).corpus_weights
        assert weights == ({"wiki-postedited": 0} if loaded.text_of(model) == "raw" else {}), model


@pytest.mark.parametrize(("one", "other"), [("en-ro-broad", "ro-en-broad"), ("en-zh-broad", "zh-en-broad")])
def test_both_directions_of_small_text_differ_in_languages_and_scoring_alone(one: str, other: str) -> None:
    there, back = recipe(one), recipe(other)
    assert (there.source_language, there.target_language) == (back.target_language, back.source_language)
    for name in ("train", "valid", "test", "cleaning", "vocabulary", "teacher", "distill", "student", "variants"):
        assert getattr(there, name) == getattr(back, name)
    assert there.vocabulary.joint == (one != "en-zh-broad")
    scored = [(own.evaluate.normalize, own.evaluate.normalize_also) for own in (there, back)]
    assert scored == [("ro", ("ro-no-diacritics",)) if one == "en-ro-broad" else ("", ()), ("", ())]


def test_a_main_table_again_is_made_with_variants_that_the_recipe_has() -> None:
    with pytest.raises(UserError, match="there is no variant 'student_9' to take its place"):
        load_recipe(RECIPES / "en-ro-broad.yaml", ["analyze.again=[{model: student_9}]"])


def test_a_plan_of_a_shipped_recipe_has_every_model_and_its_text() -> None:
    plans = dry_run(load_recipe(RECIPES / "de-en.yaml"))
    assert [(plan.name, plan.data) for plan in plans] == [
        ("teacher", "raw"),
        ("student", "distilled"),
        ("final", "enlarged"),
        ("small", "distilled"),
        ("raw", "raw"),
        ("fertility", "distilled"),
        ("ctc", "distilled"),
        ("refinement", "distilled"),
        ("insertion", "distilled"),
        ("scratch", "distilled"),
        ("ar_distilled", "distilled"),
        ("rival", "raw"),
        ("shallow", "distilled"),
        ("shallow_final", "enlarged"),
    ]
