"""Configuration files say exactly what the dataclasses know, and mistakes get one helpful sentence."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from maskpredict.config import dump_config, field_docs, from_dict, load_config, to_dict
from maskpredict.errors import UserError


@dataclass(frozen=True)
class ModelPart:
    layers: int = 6
    """Layers on each side.

    More of them learn more and run slower.
    """
    dropout: float = 0.3
    """Share of activations dropped:
    0 turns it off."""
    norm: Literal["post", "pre"] = "post"
    """Where the layer norm stands."""


@dataclass(frozen=True)
class CorpusPart:
    name: str
    """What reports call it."""
    weight: float = 1.0
    """How often it is drawn."""


@dataclass(frozen=True)
class Everything:
    title: str
    """A required text."""
    model: ModelPart = ModelPart(layers=12)
    """The network."""
    teacher: ModelPart | None = None
    """Another network, or null."""
    iterations: int | Literal["N"] = 10
    """Passes; N is one for each token."""
    betas: tuple[float, float] = (0.9, 0.999)
    languages: list[str] = field(default_factory=list)
    corpora: tuple[CorpusPart, ...] = ()
    named: dict[str, CorpusPart] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=lambda: {"one": 1})
    folder: Path = Path("runs")
    shuffle: bool = True
    note: str | None = None


@dataclass(frozen=True)
class Inherited(ModelPart):
    heads: int = 8
    """Attention heads."""


def loaded(*overrides: str, **settings: Any) -> Everything:
    return load_config(Everything, None, overrides, {"title": "t", **settings})


def complaint(*overrides: str, **settings: Any) -> str:
    with pytest.raises(UserError) as caught:
        loaded(*overrides, **settings)
    message = str(caught.value)
    assert "\n" not in message
    return message


def complaint_of_file(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load_config(Everything, path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


# Precedence


def test_overrides_beat_the_file_which_beats_the_defaults_which_beat_the_class(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("title: from file\nmodel:\n  norm: pre\n  dropout: 0.2\n")
    defaults = {"title": "from defaults", "iterations": 4, "model": {"dropout": 0.1}}
    config = load_config(Everything, path, ["model.dropout=0"], defaults)
    assert config == Everything(title="from file", iterations=4, model=ModelPart(layers=12, dropout=0.0, norm="pre"))


def test_an_empty_file_leaves_every_default(tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text("# nothing here\n")
    assert load_config(ModelPart, path) == ModelPart()


def test_a_partial_section_keeps_what_the_enclosing_class_chose() -> None:
    assert loaded("model.dropout=0.1").model == ModelPart(layers=12, dropout=0.1)


def test_an_optional_section_starts_from_its_own_defaults() -> None:
    assert loaded("teacher.layers=3").teacher == ModelPart(layers=3)
    assert loaded("teacher=null", teacher={"layers": 3}).teacher is None


def test_a_list_replaces_a_lower_list() -> None:
    assert loaded("languages=[de]", languages=["ro", "en"]).languages == ["de"]


def test_an_override_reaches_into_lists_and_named_sections() -> None:
    corpora = [{"name": "a"}, {"name": "b"}]
    config = loaded("corpora.1.weight=2", "named.x.name=c", corpora=corpora)
    assert config.corpora == (CorpusPart("a"), CorpusPart("b", 2.0))
    assert config.named == {"x": CorpusPart("c")}
    assert corpora == [{"name": "a"}, {"name": "b"}]


def test_the_last_of_two_overrides_wins() -> None:
    assert loaded("iterations=3", "iterations=N").iterations == "N"


# Values


@pytest.mark.parametrize(
    ("text", "value"), [("1e-3", 1e-3), ("5E4", 5e4), (".5", 0.5), ("3", 3.0), ("-1.5e+2", -150.0)]
)
def test_every_spelling_of_a_number_is_a_float(text: str, value: float) -> None:
    dropout = loaded(f"model.dropout={text}").model.dropout
    assert dropout == value
    assert type(dropout) is float


@pytest.mark.parametrize("text", ["no", "on", "y", "2014-01-01", "12:30:00", "007", "=", "<<", "a=b"])
def test_words_that_older_yaml_takes_for_something_else_stay_text(text: str) -> None:
    assert loaded(f"title={text}").title == text


def test_whole_numbers_may_have_underscores() -> None:
    assert loaded("iterations=300_000").iterations == 300_000


def test_paths_and_pairs_come_out_in_their_own_types() -> None:
    config = loaded("folder=out/here", "betas=[0, 1]")
    assert config.folder == Path("out/here")
    assert config.betas == (0.0, 1.0)


# Mistakes


def test_an_unknown_key_is_named_with_its_file_and_the_nearest_known_key(tmp_path: Path) -> None:
    message = complaint_of_file(tmp_path / "typo.yaml", "title: t\nmodel:\n  layesr: 3\n")
    assert "'model.layesr'" in message
    assert "did you mean 'model.layers'?" in message


@pytest.mark.parametrize(
    ("override", "near"),
    [
        ("iteratons=3", "'iterations'"),
        ("teacher.drop_out=0", "'teacher.dropout'"),
        ("corpora=[{name: a, wieght: 2}]", "'corpora.0.weight'"),
        ("named.x={nam: a}", "'named.x.name'"),
    ],
)
def test_an_unknown_key_is_found_anywhere_in_the_tree(override: str, near: str) -> None:
    message = complaint(override)
    assert f"override '{override}'" in message
    assert f"did you mean {near}?" in message


def test_an_unknown_key_like_no_other_lists_the_known_ones() -> None:
    assert "known here: layers, dropout, norm" in complaint("model.qqqqqq=1")


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("model.layers=three", "'model.layers' must be a whole number, not three"),
        ("model.layers=2.5", "'model.layers' must be a whole number, not 2.5"),
        ("model.layers=true", "'model.layers' must be a whole number, not true"),
        ("model.layers=", "'model.layers' must be a whole number, not null"),
        ("model.dropout=[1]", "'model.dropout' must be a number, not [1]"),
        ("model.norm=middle", "'model.norm' must be one of post, pre, not middle"),
        ("model=3", "'model' must be a mapping of layers, dropout, norm, not 3"),
        ("model.layers.deep=3", "'model.layers' must be a whole number, not {deep: 3}"),
        ("iterations=M", "'iterations' must be a whole number or N, not M"),
        ("teacher.layers=x", "'teacher.layers' must be a whole number, not x"),
        ("betas=[1]", "'betas' must be a list of 2 (a number, a number), not [1]"),
        ("languages=de", "'languages' must be a list of text, not de"),
        ("languages=[de, 3]", "'languages.1' must be text, not 3 (put it in quotes to make it text)"),
        ("corpora=[{name: a, weight: x}]", "'corpora.0.weight' must be a number, not x"),
        ("named=[]", "'named' must be a mapping of names to a mapping of name, weight, not []"),
        ("shuffle=no", "'shuffle' must be true or false, not 'no'"),
        ("folder=3", "'folder' must be a path, not 3"),
        ("note=3", "'note' must be text or null, not 3"),
    ],
)
def test_a_wrong_type_names_the_key_the_value_and_what_is_expected(override: str, expected: str) -> None:
    assert complaint(override) == f"override '{override}': {expected}"


def test_a_wrong_value_in_the_file_is_blamed_on_the_file_though_there_are_overrides(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("title: t\nmodel: {layers: x}\n")
    with pytest.raises(UserError, match="must be a whole number, not x") as caught:
        load_config(Everything, path, ["model.dropout=0.1"])
    assert str(caught.value).startswith(f"{path}: ")


def test_a_missing_required_field_is_named(tmp_path: Path) -> None:
    assert "'title' is missing; set it to text" in complaint_of_file(tmp_path / "none.yaml", "iterations: 3\n")
    assert "'corpora.0.name' is missing" in complaint("corpora=[{weight: 2}]")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("title: t\nmodel: [1, 2\nshuffle: true\n", ", line 3: not valid YAML"),
        ("title: t\n\tmodel: 3\n", ", line 2: not valid YAML"),
        ("title: t\nshuffle: true\ntitle: u\n", ", line 3: not valid YAML: the key 'title' occurs twice"),
        ("title: !!python/object:os.system {}\n", ", line 1: not valid YAML"),
        ("title: \x00\n", ": not valid YAML"),
        ("- title\n", ": a configuration is lines of `key: value`, not [title]"),
    ],
)
def test_a_file_that_is_not_a_configuration_gets_its_name_and_line(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "broken.yaml"
    assert f"{path}{place}" in complaint_of_file(path, text)


def test_a_file_that_cannot_be_read_is_a_user_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        load_config(ModelPart, tmp_path / "absent.yaml")
    with pytest.raises(UserError, match="Is a directory"):
        load_config(ModelPart, tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"title: \xe4\n")
    with pytest.raises(UserError, match="not UTF-8"):
        load_config(ModelPart, tmp_path / "latin.yaml")


@pytest.mark.parametrize("override", ["shuffle", "=3", "--shuffle"])
def test_an_override_without_key_or_value_says_how_to_write_one(override: str) -> None:
    assert complaint(override) == f"override '{override}': write it as key=value or key.sub=value"


def test_an_override_of_a_thousand_levels_is_a_user_error() -> None:
    assert "no setting is 1001 levels deep" in complaint("a" + ".a" * 1_000 + "=1")


def test_an_override_that_is_not_yaml_is_a_user_error() -> None:
    assert "not valid YAML" in complaint("languages=[de")


# Dumping and documentation


def test_a_dump_explains_every_key_with_the_first_paragraph_of_its_docstring() -> None:
    assert dump_config(ModelPart()).splitlines() == [
        "layers: 6  # Layers on each side.",
        "dropout: 0.3  # Share of activations dropped: 0 turns it off.",
        "norm: post  # Where the layer norm stands.",
    ]


def test_a_dump_nests_sections_lists_and_names() -> None:
    config = loaded("corpora=[{name: a}]", "named.b.name=c", "languages=[de, 'no']")
    lines = dump_config(config).splitlines()
    assert "  - name: a  # What reports call it." in lines
    assert "    weight: 1.0  # How often it is drawn." in lines
    assert "  b:" in lines
    assert "    name: c  # What reports call it." in lines
    assert "languages: [de, 'no']" in lines


def test_other_yaml_readers_understand_a_dump() -> None:
    config = loaded("title=no", "note='1e-3'", "model.dropout=1e-5", "corpora=[{name: on}]")
    assert yaml.safe_load(dump_config(config)) == to_dict(config)


def test_field_docs_hold_whole_docstrings_and_inherited_ones() -> None:
    docs = field_docs(Inherited)
    assert list(docs) == ["layers", "dropout", "norm", "heads"]
    assert docs["layers"] == "Layers on each side.\n\nMore of them learn more and run slower."
    assert docs["heads"] == "Attention heads."


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.floats(allow_nan=False)
MODELS = st.builds(ModelPart, st.integers(), NUMBERS, st.sampled_from(["post", "pre"]))
CORPORA = st.builds(CorpusPart, TEXTS, NUMBERS)
EVERYTHING = st.builds(
    Everything,
    title=TEXTS,
    model=MODELS,
    teacher=st.none() | MODELS,
    iterations=st.integers() | st.just("N"),
    betas=st.tuples(NUMBERS, NUMBERS),
    languages=st.lists(TEXTS, max_size=3),
    corpora=st.lists(CORPORA, max_size=3).map(tuple),
    named=st.dictionaries(TEXTS, CORPORA, max_size=3),
    labels=st.dictionaries(TEXTS, st.integers(), max_size=3),
    folder=TEXTS.map(Path),
    shuffle=st.booleans(),
    note=st.none() | TEXTS,
)


@given(EVERYTHING)
def test_every_configuration_survives_dumping_and_loading(
    tmp_path_factory: pytest.TempPathFactory, config: Everything
) -> None:
    path = tmp_path_factory.getbasetemp() / "round-trip.yaml"
    path.write_bytes(dump_config(config).encode())
    assert load_config(Everything, path) == config


@given(EVERYTHING)
def test_every_configuration_survives_to_dict_and_from_dict(config: Everything) -> None:
    assert from_dict(Everything, to_dict(config)) == config


@given(
    st.sampled_from(["title", "model", "model.layers", "iterations", "corpora", "named", "labels", "nothing"]),
    TEXTS | st.text("[]{}:,!&*#?|->'\"%~ab1.e_\n", max_size=12),
)
def test_no_override_fails_with_anything_but_a_user_error(key: str, value: str) -> None:
    with suppress(UserError):
        loaded(f"{key}={value}")


def test_a_whole_number_too_large_for_a_float_is_a_users_mistake() -> None:
    @dataclass(frozen=True)
    class Rate:
        rate: float = 1.0

    with pytest.raises(UserError, match="'rate' must be a number"):
        load_config(Rate, None, [f"rate={10**400}"])
