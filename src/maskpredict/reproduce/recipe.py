"""`Recipe`: all values of an experiment, from raw text to a scored model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from maskpredict.bench.config import BenchConfig
from maskpredict.config import from_dict, load_config
from maskpredict.corpus.augmentation import AugmentationConfig
from maskpredict.corpus.cleaning import CleaningConfig
from maskpredict.corpus.vocabulary import VocabularyConfig
from maskpredict.distill import DistillConfig
from maskpredict.distill.by_text import TextDistillConfig
from maskpredict.distill.teachers.base import TeacherConfig
from maskpredict.errors import UserError
from maskpredict.evaluate.normalization import normalize
from maskpredict.model.config import preset
from maskpredict.paper.run import check_names
from maskpredict.runtime.settings import resolve_settings
from maskpredict.training.config import TrainConfig

T = TypeVar("T")

RESERVED = {"prepare", "teacher", "distill", "student", "gather", "enlarge", "final", "evaluate", "ship", "analyze"} | {
    *("race", "outside"),
    *("corpus", "data", "distilled", "gathered", "enlarging", "enlarged", "results", "model", "texts", "analysis"),
}
"""Names of stages and their folders."""


@dataclass(frozen=True)
class CorpusFiles:
    """A parallel corpus: two aligned files, one for each language."""

    stem: str
    """Path in the folder of --data without language and `suffix`, as in STEM.de.xz."""
    name: str = ""
    """Name of the corpus or test set; empty: that of the file."""
    weight: float = 1.0
    """Sampling weight in training, relative to the size of the corpus."""


@dataclass(frozen=True)
class ToyCorpus:
    """A generated corpus of the toy language, with the splits train, valid and test."""

    train_pairs: int
    """Number of training pairs."""
    valid_pairs: int
    """Number of validation pairs."""
    test_pairs: int
    """Number of test pairs."""
    seed: int = 1
    """Random seed."""


@dataclass(frozen=True)
class EvaluateStageConfig:
    """Scores to compute with sacreBLEU on every test set."""

    teacher: tuple[dict[str, Any], ...] = ({"beam_size": 5},)
    """Decoding settings of the teacher, a score for each."""
    student: tuple[dict[str, Any], ...] = ({"iterations": 10, "length_candidates": 5},)
    """Decoding settings of the student and the final model, a score for each."""
    device: str = "auto"
    """cpu, cuda, or auto: cuda if available."""
    compute_type: Literal["float32", "bfloat16", "float16"] = "float32"
    """Compute type of translation."""
    batch_tokens: int | None = None
    """Batch size in padded tokens; null: the default of the device."""
    limit: int | None = None
    """Number of sentences of each test set, from the first; null: all."""
    normalize: str = ""
    """Normalization of spelling before scoring: ro, ro-no-diacritics, or empty for none."""
    normalize_also: tuple[str, ...] = ()
    """Further normalizations; the same translations get a score with each."""

    def __post_init__(self) -> None:
        for name in (self.normalize, *self.normalize_also):
            normalize([], name)
        if self.limit is not None and self.limit < 1:
            raise UserError(f"evaluate.limit is {self.limit}; use 1 or more.")


@dataclass(frozen=True)
class TextFile:
    """A monolingual file in one of the two languages."""

    stem: str
    """Path in the folder of --data without language and `suffix`, as in STEM.en.xz."""
    language: str
    """Code of its language."""
    name: str
    """Name in `corpus_weights`."""


@dataclass(frozen=True)
class EnlargeConfig:
    """Data augmentation for the final training: the teacher translates back-translated targets and monolingual text."""

    model: str
    """Name or folder of an autoregressive model of the opposite direction with the same vocabulary."""
    corpora: tuple[str, ...]
    """Names of the corpora whose targets are back-translated."""
    n: int = 5
    """Back-translations of each target: the n best of the beam."""
    text: tuple[TextFile, ...] = ()
    """Monolingual text; that of the target language is back-translated, that of the source language is not."""


@dataclass(frozen=True)
class Variant:
    """Another model for comparison, trained like teacher or student with some values changed."""

    like: Literal["teacher", "student"]
    """Model whose training section it starts from."""
    data: Literal["raw", "distilled", "enlarged"]
    """Training text: the prepared text, the distilled text, or the augmented text of `enlarge`."""
    changes: dict[str, Any] = field(default_factory=dict)
    """Changed values: keys of `maskpredict train` except data and run."""


@dataclass(frozen=True)
class AnalyzeConfig:
    """Analyses of the student, compared with teacher and variants, in the compute type of `evaluate`."""

    split: str = ""
    """Test split, such as test.NAME; empty: the first."""
    only: tuple[str, ...] = ()
    """Names of analyses; empty: all."""
    limit: int | None = None
    """Number of sentences, from the first; null: all."""
    figure1: str = ""
    """Source sentence of the analysis figure1; empty: a sentence that comes with the package."""
    again: tuple[dict[str, str], ...] = ()
    """Further main tables with models of other seeds, each as {ROLE: VARIANT}; all other models stay the same."""

    def __post_init__(self) -> None:
        check_names(self.only)


@dataclass(frozen=True)
class ShipConfig:
    """The final model folder."""

    precision: Literal["float32", "float16", "bfloat16", "int8"] = "float16"
    """Precision of the stored weights."""
    decoding: dict[str, Any] = field(default_factory=dict)
    """Recommended decoding settings, such as {length_threshold: 0.1}."""
    card: str = ""
    """Text of the model card on the data."""
    licence: str = ""
    """Text of the model card on the licence."""


@dataclass(frozen=True)
class Recipe:
    """Values of all stages."""

    source_language: str
    """Code of the source language."""
    target_language: str
    """Code of the target language."""
    train: tuple[CorpusFiles, ...]
    """Training corpora."""
    valid: tuple[CorpusFiles, ...]
    """Validation corpora."""
    test: tuple[CorpusFiles, ...]
    """Test sets."""
    teacher: dict[str, Any]
    """Training of the teacher: keys of `maskpredict train` except data and run."""
    student: dict[str, Any]
    """Training of the student: keys of `maskpredict train` except data and run."""
    final: dict[str, Any] | None = None
    """Continued training of the student, as changes to `student`, for the shipped model; null: ships the student."""
    enlarge: EnlargeConfig | None = None
    """Data augmentation for the final training; none: the text of the student."""
    outside: dict[str, Any] | None = None
    """Teacher from outside and the text it translates, instead of `train`, `teacher` and `distill`: keys of
    `maskpredict distill` except data, out, seconds and the languages; none trains a teacher."""
    distill: dict[str, Any] = field(default_factory=dict)
    """Distillation: keys of `maskpredict distill` except data, teacher, out and seconds."""
    evaluate: EvaluateStageConfig = field(default_factory=EvaluateStageConfig)
    """Scores to compute."""
    race: dict[str, Any] = field(default_factory=dict)
    """Race of the student against a teacher from outside, as {rounds: 3}; keys as in bench.json."""
    ship: ShipConfig = field(default_factory=ShipConfig)
    """The final model folder."""
    variants: dict[str, Variant] = field(default_factory=dict)
    """Models for comparison; the analysis knows the names small, raw, baseline, ar_distilled, and names of systems."""
    analyze: AnalyzeConfig | None = None
    """Analyses at the end; none: no analysis."""
    cleaning: CleaningConfig = field(default_factory=CleaningConfig)
    """Filtering of training pairs."""
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    """Subword vocabulary."""
    augmentation: AugmentationConfig = field(default_factory=AugmentationConfig)
    """Training pairs to repeat with other numbers, names, placeholders or letter case."""
    suffix: str = ""
    """Suffix of corpus files after the language, such as .xz."""
    endings: dict[str, str] = field(default_factory=dict)
    """Language parts of those names that differ from the code, such as {de: deu}."""
    where: str = ""
    """Sentence on where to get the corpora, for error messages."""
    toy: ToyCorpus | None = None
    """Generate a corpus of the toy language instead of reading files."""

    def __post_init__(self) -> None:
        # Check the values of all stages before the first one runs.
        self._check_models()
        self._check_teacher()
        self._check_evaluation()
        self._check_enlarge()
        self._check_variants()

    def _check_models(self) -> None:
        for number, name in enumerate(self.trained):
            start = self.training(name, Path("data"), Path("run")).start_from
            if start == "final" and self.final is None:
                raise UserError(
                    f"section {name} of the recipe: it starts from final, but the recipe has no section final."
                )
            if start in self.trained[number:]:
                raise UserError(f"section {name} of the recipe: it starts from {start}, which must come before it.")
            if self.text_of(name) == "enlarged" and self.enlarge is None:
                raise UserError(
                    f"section {name} of the recipe: its data is enlarged, but the recipe has no section enlarge."
                )

    def _check_enlarge(self) -> None:
        if self.enlarge and self.final is None:
            raise UserError("section enlarge of the recipe: it is for section final, which the recipe does not have.")
        for text in self.enlarge.text if self.enlarge else ():
            if text.language not in (self.source_language, self.target_language):
                raise UserError(
                    f"section enlarge of the recipe: {text.name} is in {text.language}; use "
                    f"{self.source_language} or {self.target_language}."
                )

    def _check_variants(self) -> None:
        for name in self.variants:
            if name in RESERVED or not re.fullmatch(r"[a-z][\w-]*", name):
                raise UserError(f"{name!r} cannot be the name of a variant and its folder; choose another.")
        if self.analyze is None:
            return
        if self.analyze.split and self.analyze.split not in self.test_splits:
            raise UserError(
                f"there is no test set {self.analyze.split!r} to analyze; choose one of {', '.join(self.test_splits)}."
            )
        for variant in (name for roles in self.analyze.again for name in roles.values()):
            if variant not in self.variants:
                raise UserError(f"section analyze of the recipe: there is no variant {variant!r} to take its place.")

    def _check_teacher(self) -> None:
        if self.outside is None:
            self.distillation(Path("data"), Path("teacher"), Path("out"), None)
            return
        if not (self.outside.get("teacher") and self.outside.get("text") and self.test):
            raise UserError("name a teacher, its text and a test set: --teacher, --text and --test.")
        self.text_distillation(Path("out"), None)
        if given := [name for name in ("train", "teacher", "distill", "enlarge", "analyze") if getattr(self, name)]:
            raise UserError(f"a recipe with section outside has a teacher and text already; leave {given[0]} out.")

    def _check_evaluation(self) -> None:
        """Refuse decoding settings and values of the race that would fail only after all training."""
        for role, every in (("teacher", self.evaluate.teacher), ("student", self.evaluate.student)):
            for settings in every:
                with _named(f"evaluate.{role}"):
                    if role in self.trained:
                        resolve_settings(self.training(role, Path("data"), Path("run")).system, {}, settings)
                    else:
                        self.outside_teacher(settings)
        with _named("race"):
            from_dict(BenchConfig, {"model": "student", **self.race})

    @property
    def trained(self) -> list[str]:
        """Names of all trained models."""
        teacher = ["teacher"] if self.outside is None else []
        return [*teacher, "student", *(["final"] if self.final is not None else []), *self.variants]

    def text_of(self, name: str) -> Literal["raw", "distilled", "enlarged"]:
        """Training text of a model: prepared, distilled or augmented."""
        if self.outside is not None:
            return "raw"  # it was distilled before it was prepared
        if name in self.variants:
            return self.variants[name].data
        if name == "teacher":
            return "raw"
        return "enlarged" if name == "final" and self.enlarge else "distilled"

    @property
    def test_splits(self) -> list[str]:
        """Names of the test splits in the data folder."""
        names = [files.name or Path(files.stem).name for files in self.test]
        return ["test"] if len(names) == 1 else [f"test.{name}" for name in names]

    def training(self, name: str, data: Path, run: Path) -> TrainConfig:
        """Training config of a model with these folders."""
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
        """Distillation config with these folders and time limit."""
        given = {"data": str(data), "teacher": str(teacher), "out": str(out), "seconds": seconds}
        with _named("distill"):
            return _without_folders(DistillConfig, self.distill, given)

    def outside_teacher(self, settings: Mapping[str, Any]) -> TeacherConfig:
        """The teacher from outside with other settings of its search, in the arithmetic that it distils in."""
        config = self.text_distillation(Path("out"), None)
        shared = {name: getattr(config, name) for name in TeacherConfig.__dataclass_fields__}
        if unknown := sorted(settings.keys() - shared.keys()):
            raise UserError(f"{unknown[0]} is no setting of a teacher from outside.")
        return TeacherConfig(**{**shared, "n": None, "temperature": None, "top_k": 0, **settings})

    def text_distillation(self, out: Path, seconds: float | None) -> TextDistillConfig:
        """Distillation by text of the teacher from outside, with this folder and time limit."""
        languages = {"source_language": self.source_language, "target_language": self.target_language}
        given = {"out": str(out), "data": None, "seconds": seconds, **languages}
        with _named("outside"):
            return _without_folders(TextDistillConfig, self.outside or {}, given)


def load_recipe(path: Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe from a YAML file, with overrides `key=value`."""
    return load_config(Recipe, path, overrides)


def _changed(section: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merge `changes` into the section, recursively for mappings."""
    changed = dict(section)
    for key, value in changes.items():
        below = changed.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        changed[key] = _changed(below or {}, value) if both else value
    return changed


def _without_folders(cls: type[T], section: Mapping[str, Any], given: Mapping[str, Any]) -> T:
    if taken := sorted(section.keys() & given.keys()):
        raise UserError(f"a recipe cannot set {taken[0]}; leave it out.")
    return from_dict(cls, {**section, **given})


@contextmanager
def _named(section: str) -> Iterator[None]:
    """Prefixes errors with the section of the recipe."""
    try:
        yield
    except UserError as error:
        sentence = str(error).removeprefix("configuration: ")
        raise UserError(f"section {section} of the recipe: {sentence}") from None
