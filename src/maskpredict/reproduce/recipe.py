"""A recipe: every value that leads from raw text to a model with scores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from maskpredict.config import from_dict, load_config
from maskpredict.corpus.cleaning import CleaningConfig
from maskpredict.corpus.vocabulary import VocabularyConfig
from maskpredict.distill import DistillConfig
from maskpredict.errors import UserError
from maskpredict.evaluate.normalization import normalize
from maskpredict.model.config import preset
from maskpredict.paper.run import check_names
from maskpredict.training.config import TrainConfig

T = TypeVar("T")

RESERVED = {"prepare", "teacher", "distill", "student", "gather", "enlarge", "final", "evaluate", "ship", "analyze"} | {
    *("corpus", "data", "distilled", "gathered", "enlarging", "enlarged", "results", "model", "texts", "analysis")
}
"""Names of stages and their folders."""


@dataclass(frozen=True)
class CorpusFiles:
    """Two aligned files, one for each language."""

    stem: str
    """Path in the folder of the data; the language and `suffix` follow, as in STEM.de.xz."""
    name: str = ""
    """Name in reports and of a test set; empty: the file's."""
    weight: float = 1.0
    """How often training draws this corpus, relative to its size."""


@dataclass(frozen=True)
class ToyCorpus:
    """A corpus of the toy language, written on the spot as train, valid and test."""

    train_pairs: int
    """Pairs to learn from."""
    valid_pairs: int
    """Pairs to choose checkpoints by."""
    test_pairs: int
    """Pairs to score on."""
    seed: int = 1
    """Of the sentences."""


@dataclass(frozen=True)
class EvaluateStageConfig:
    """What is scored on every test set, with sacreBLEU."""

    teacher: tuple[dict[str, Any], ...] = ({"beam_size": 5},)
    """Decoding settings of the teacher, a score for each."""
    student: tuple[dict[str, Any], ...] = ({"iterations": 10, "length_candidates": 5},)
    """Decoding settings of the student and the final model, a score for each."""
    device: str = "auto"
    """cpu, cuda, or auto: cuda where there is one."""
    compute_type: Literal["float32", "bfloat16", "float16"] = "float32"
    """Arithmetic of translation."""
    batch_tokens: int | None = None
    """Padded tokens computed together; none is what suits the device."""
    limit: int | None = None
    """Use only the first so many sentences of each test set; none is all."""
    normalize: str = ""
    """Spelling to unify before scoring: ro, ro-no-diacritics, or empty for none."""

    def __post_init__(self) -> None:
        normalize([], self.normalize)
        if self.limit is not None and self.limit < 1:
            raise UserError(f"evaluate.limit is {self.limit}; use 1 or more.")


@dataclass(frozen=True)
class TextFile:
    """A file of sentences in one of the two languages, without translations."""

    stem: str
    """Path in the folder of the data; the language and `suffix` follow, as in STEM.en.xz."""
    language: str
    """Code of its language."""
    name: str
    """What it is called in `corpus_weights`."""


@dataclass(frozen=True)
class EnlargeConfig:
    """More sources for the final training: targets translated back, and more text, for the teacher to translate."""

    model: str
    """An autoregressive model with the same vocabulary that translates the other way: its name or folder."""
    corpora: tuple[str, ...]
    """Names of the corpora whose targets it translates."""
    n: int = 5
    """How many ways to say each, the likeliest of its beam; each is a source."""
    text: tuple[TextFile, ...] = ()
    """More sentences: those of the source language are sources, those of the target language are translated back."""


@dataclass(frozen=True)
class Variant:
    """Another model beside teacher and student, trained like one of them but for some values."""

    like: Literal["teacher", "student"]
    """Whose training it repeats."""
    data: Literal["raw", "distilled", "enlarged"]
    """The prepared text, that with the teacher's translations as targets, or more of them, as for `final`."""
    changes: dict[str, Any] = field(default_factory=dict)
    """What differs: the keys of `maskpredict train` but data and run."""


@dataclass(frozen=True)
class AnalyzeConfig:
    """What is looked into: the student beside teacher and variants, in the arithmetic of `evaluate`."""

    split: str = ""
    """Test set, as in test.NAME; empty: the first."""
    only: tuple[str, ...] = ()
    """Names of analyses; none is all."""
    limit: int | None = None
    """Use only so many sentences; none is all."""
    figure1: str = ""
    """Source sentence to follow pass by pass; empty: one that comes with the package."""

    def __post_init__(self) -> None:
        check_names(self.only)


@dataclass(frozen=True)
class ShipConfig:
    """The model folder that comes out in the end."""

    precision: Literal["float32", "float16", "bfloat16", "int8"] = "float16"
    """How its weights are stored."""
    decoding: dict[str, Any] = field(default_factory=dict)
    """Settings that its folder recommends, such as {length_threshold: 0.1}."""
    card: str = ""
    """What its model card says about the data."""
    licence: str = ""
    """What its model card says about who may use it."""


@dataclass(frozen=True)
class Recipe:
    """Every stage's values."""

    source_language: str
    """Code of the language to translate from."""
    target_language: str
    """Code of the language to translate into."""
    train: tuple[CorpusFiles, ...]
    """Corpora to learn from."""
    valid: tuple[CorpusFiles, ...]
    """Corpora to choose checkpoints by."""
    test: tuple[CorpusFiles, ...]
    """Test sets."""
    teacher: dict[str, Any]
    """Training of the teacher: the keys of `maskpredict train` but data and run."""
    student: dict[str, Any]
    """Training of the student: the keys of `maskpredict train` but data and run."""
    final: dict[str, Any] | None = None
    """How the student is trained on, as the model that is shipped: what differs from `student`; none ships that one."""
    enlarge: EnlargeConfig | None = None
    """More sources for the final training; none has the student's."""
    distill: dict[str, Any] = field(default_factory=dict)
    """The teacher's translating: the keys of `maskpredict distill` but data, teacher, out and seconds."""
    evaluate: EvaluateStageConfig = field(default_factory=EvaluateStageConfig)
    """What is scored."""
    ship: ShipConfig = field(default_factory=ShipConfig)
    """What comes out."""
    variants: dict[str, Variant] = field(default_factory=dict)
    """Models to compare with, by name; the analysis knows small, raw, baseline, ar_distilled and systems by theirs."""
    analyze: AnalyzeConfig | None = None
    """What is looked into in the end; none is nothing."""
    cleaning: CleaningConfig = field(default_factory=CleaningConfig)
    """Which training pairs to drop."""
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    """How text is cut into subwords."""
    suffix: str = ""
    """What follows the language in the names of corpus files, such as .xz."""
    endings: dict[str, str] = field(default_factory=dict)
    """What stands for a language in those names, where it is not its code, as in {de: deu}."""
    where: str = ""
    """Where to get the corpora: a sentence for those who do not have them."""
    toy: ToyCorpus | None = None
    """Write a corpus of the toy language instead of reading files."""

    def __post_init__(self) -> None:
        # A mistake in the last stage should not wait for the first ones to end.
        for number, name in enumerate(self.trained):
            start = self.training(name, Path("data"), Path("run")).start_from
            if start == "final" and self.final is None:
                raise UserError(f"section {name} of the recipe: it starts from final, a section that is not there.")
            if start in self.trained[number:]:
                raise UserError(f"section {name} of the recipe: it starts from {start}, which has to come before it.")
            if self.text_of(name) == "enlarged" and self.enlarge is None:
                raise UserError(f"section {name} of the recipe: its data is that of enlarge, which is not there.")
        self.distillation(Path("data"), Path("teacher"), Path("out"), None)
        if self.enlarge and self.final is None:
            raise UserError("section enlarge of the recipe: its text is for section final, which is not there.")
        for text in self.enlarge.text if self.enlarge else ():
            if text.language not in (self.source_language, self.target_language):
                raise UserError(f"section enlarge of the recipe: {text.name} is in {text.language}, neither language.")
        for name in self.variants:
            if name in RESERVED or not re.fullmatch(r"[a-z][\w-]*", name):
                raise UserError(f"{name!r} cannot be the name of a variant, which is a folder too; choose another.")
        if self.analyze and self.analyze.split and self.analyze.split not in self.test_splits:
            raise UserError(
                f"there is no test set {self.analyze.split!r} to analyze; choose one of {', '.join(self.test_splits)}."
            )

    @property
    def trained(self) -> list[str]:
        """The models that are trained, by name."""
        return ["teacher", "student", *(["final"] if self.final is not None else []), *self.variants]

    def text_of(self, name: str) -> Literal["raw", "distilled", "enlarged"]:
        """What a model is trained on: the prepared text, the teacher's translations, or more of them."""
        if name in self.variants:
            return self.variants[name].data
        if name == "teacher":
            return "raw"
        return "enlarged" if name == "final" and self.enlarge else "distilled"

    @property
    def test_splits(self) -> list[str]:
        """What the test sets are called in the data folder."""
        names = [files.name or Path(files.stem).name for files in self.test]
        return ["test"] if len(names) == 1 else [f"test.{name}" for name in names]

    def training(self, name: str, data: Path, run: Path) -> TrainConfig:
        """The training of the teacher, the student or a variant, in these folders."""
        with _named(name):
            given = {"data": str(data), "run": str(run)}
            config = _without_folders(TrainConfig, self._training_section(name), given)
            preset(config.preset, config.model)
        return config

    def _training_section(self, name: str) -> dict[str, Any]:
        sections = {"teacher": self.teacher, "student": self.student}
        if name in sections:
            return sections[name]
        if name == "final":
            return _changed(self.student, {"start_from": "student", **(self.final or {})})
        variant = self.variants[name]
        return _changed(sections[variant.like], variant.changes)

    def distillation(self, data: Path, teacher: Path, out: Path, seconds: float | None) -> DistillConfig:
        """The distillation in these folders, for at most this long."""
        given = {"data": str(data), "teacher": str(teacher), "out": str(out), "seconds": seconds}
        with _named("distill"):
            return _without_folders(DistillConfig, self.distill, given)


def load_recipe(path: Path, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe of a YAML file, with some values changed."""
    return load_config(Recipe, path, overrides)


def _changed(section: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The section with some values replaced, mappings key by key."""
    changed = dict(section)
    for key, value in changes.items():
        below = changed.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        changed[key] = _changed(below or {}, value) if both else value
    return changed


def _without_folders(cls: type[T], section: Mapping[str, Any], given: Mapping[str, Any]) -> T:
    if taken := sorted(section.keys() & given.keys()):
        raise UserError(f"{taken[0]} is not for a recipe to say; leave it out.")
    return from_dict(cls, {**section, **given})


@contextmanager
def _named(section: str) -> Iterator[None]:
    """Say in which section of the recipe a mistake is."""
    try:
        yield
    except UserError as error:
        sentence = str(error).removeprefix("configuration: ")
        raise UserError(f"section {section} of the recipe: {sentence}") from None
