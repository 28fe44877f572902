"""Every shipped recipe says what it means, and a mistake in a recipe is named before any work begins."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from typer.testing import Result

import maskpredict
from maskpredict.config import field_docs, read_settings
from maskpredict.errors import UserError
from maskpredict.model.config import preset
from maskpredict.reproduce.recipe import EvaluateStageConfig, Recipe, ShipConfig, load_recipe
from maskpredict.reproduce.run import stage_states
from maskpredict.runtime.settings import resolve_settings
from maskpredict.systems import find_system, vocabulary_of
from maskpredict.tokenizer import Tokenizers

RECIPES = Path(maskpredict.__file__).parent / "recipes"
CHAINS = ["toy", "small", "de-en", "en-de"]


@pytest.mark.parametrize("name", CHAINS)
def test_the_models_of_a_shipped_recipe_can_be_built_and_know_its_decoding_settings(
    name: str, toy_tokenizers: Tokenizers
) -> None:
    recipe = load_recipe(RECIPES / f"{name}.yaml")
    for training, settings in (
        (recipe.training("teacher", Path(), Path()), recipe.evaluate.teacher),
        (recipe.training("student", Path(), Path()), recipe.evaluate.student),
    ):
        shape = preset(training.preset, training.model)
        with torch.device("meta"):
            find_system(training.system)(shape, vocabulary_of(toy_tokenizers), training.label_smoothing)
        assert training.batch.max_length < shape.max_positions
        for own in settings:
            resolve_settings(training.system, {}, own)


@pytest.mark.parametrize("name", ["small", "de-en", "en-de"])
def test_what_cleaning_keeps_fits_into_a_batch(name: str) -> None:
    recipe = load_recipe(RECIPES / f"{name}.yaml")
    assert recipe.training("teacher", Path(), Path()).batch.max_length == recipe.cleaning.max_tokens + 1
    assert recipe.training("student", Path(), Path()).batch.max_length == recipe.cleaning.max_tokens + 1


def test_the_two_directions_differ_in_their_languages_and_words_alone() -> None:
    there, back = (load_recipe(RECIPES / f"{name}.yaml") for name in ("de-en", "en-de"))
    assert (there.source_language, there.target_language) == (back.target_language, back.source_language)
    for name in ("train", "valid", "test", "cleaning", "vocabulary", "teacher", "distill", "student", "evaluate"):
        assert getattr(there, name) == getattr(back, name)


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.yaml")), ids=lambda path: str(path.stem))
def test_whatever_is_trained_says_how_its_gradients_are_clipped(path: Path) -> None:
    settings = read_settings(path)
    for section in (settings, settings.get("teacher", {}), settings.get("student", {})):
        if "steps" in section:
            assert section["optimizer"]["clip"] == 1.0


def test_every_setting_of_a_recipe_is_explained() -> None:
    for cls in (Recipe, EvaluateStageConfig, ShipConfig):
        assert field_docs(cls).keys() == cls.__dataclass_fields__.keys()


@pytest.mark.parametrize("name", CHAINS)
def test_a_shipped_recipe_says_how_to_call_it(name: str) -> None:
    text = (RECIPES / f"{name}.yaml").read_text(encoding="utf-8")
    assert re.search(rf"^#   maskpredict reproduce {name}\b", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("teacher.stpes=3", "section teacher of the recipe: unknown key 'stpes'; did you mean 'steps'?"),
        ("student.optimizer.rate=fast", "section student of the recipe: 'optimizer.rate' must be a number"),
        ("student.model.dropuot=0.1", "section student of the recipe: unknown key 'model.dropuot'"),
        ("student.preset=huge", "section student of the recipe: there is no model preset 'huge'"),
        ("teacher.data=elsewhere", "section teacher of the recipe: a recipe cannot set data"),
        ("distill.beam_size=0", "section distill of the recipe: 'beam_size' must be a whole number of at least 1"),
        ("evaluate.studnet=[]", "unknown key 'evaluate.studnet'; did you mean 'evaluate.student'?"),
    ],
)
def test_a_mistake_is_named_before_any_work_begins(
    cli: Callable[..., Result], tmp_path: Path, override: str, sentence: str
) -> None:
    result = cli("reproduce", "toy", "--work", tmp_path / "work", override)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "work").exists()


def test_a_missing_corpus_is_named_with_the_place_to_get_it(cli: Callable[..., Result], tmp_path: Path) -> None:
    result = cli("reproduce", "de-en", "--work", tmp_path / "work", "--data", tmp_path)
    assert result.exit_code == 2
    assert f"{tmp_path}/europarl-de-en/train.de.xz is missing" in result.stderr
    assert "manythings.org/anki" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_recipe_that_reads_files_asks_for_their_folder(cli: Callable[..., Result], tmp_path: Path) -> None:
    result = cli("reproduce", "en-de", "--work", tmp_path / "work")
    assert result.exit_code == 2
    assert "give the folder of the corpora with --data" in result.stderr


def test_a_recipe_is_no_other_configuration() -> None:
    with pytest.raises(UserError, match="unknown key 'out'"):
        load_recipe(RECIPES / "toy-data.yaml")


def test_settings_that_are_off_are_not_in_records_which_so_outlive_their_invention(tmp_path: Path) -> None:
    for state in stage_states(load_recipe(RECIPES / "toy.yaml"), tmp_path):
        assert not {"corpus_weights", "bigram_matches"} & state.values.keys()


def test_records_of_every_training_name_the_options_that_all_systems_once_had(tmp_path: Path) -> None:
    states = {state.stage.name: state for state in stage_states(load_recipe(RECIPES / "toy.yaml"), tmp_path)}
    for name in ("teacher", "student"):
        assert states[name].values["reveal"]["partial"] == 0.3
        assert states[name].values["order"] == {"temperature": 1.0}
