"""A recipe: every value that leads from raw text to a model with scores."""

from __future__ import annotations

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
from maskpredict.model.config import preset
from maskpredict.training.config import TrainConfig

T = TypeVar("T")


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
class EvaluateConfig:
    """What is scored on every test set, with sacreBLEU."""

    teacher: tuple[dict[str, Any], ...] = ({"beam_size": 5},)
    """Decoding settings of the teacher, a score for each."""
    student: tuple[dict[str, Any], ...] = ({"iterations": 10, "length_candidates": 5},)
    """Decoding settings of the student, a score for each."""
    device: str = "auto"
    """cpu, cuda, or auto: cuda where there is one."""
    compute_type: Literal["float32", "bfloat16", "float16"] = "float32"
    """Arithmetic of translation."""
    batch_tokens: int | None = None
    """Padded tokens computed together; none is what suits the device."""


@dataclass(frozen=True)
class ShipConfig:
    """The model folder that comes out in the end."""

    precision: Literal["float32", "float16", "bfloat16"] = "float16"
    """How its weights are stored."""
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
    distill: dict[str, Any] = field(default_factory=dict)
    """The teacher's translating: the keys of `maskpredict distill` but data, teacher, out and seconds."""
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)
    """What is scored."""
    ship: ShipConfig = field(default_factory=ShipConfig)
    """What comes out."""
    cleaning: CleaningConfig = field(default_factory=CleaningConfig)
    """Which training pairs to drop."""
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    """How text is cut into subwords."""
    suffix: str = ""
    """What follows the language in the names of corpus files, such as .xz."""
    where: str = ""
    """Where to get the corpora: a sentence for those who do not have them."""
    toy: ToyCorpus | None = None
    """Write a corpus of the toy language instead of reading files."""

    def __post_init__(self) -> None:
        # A mistake in the last stage should not wait for the first ones to end.
        self.training("teacher", Path("data"), Path("run"))
        self.training("student", Path("data"), Path("run"))
        self.distillation(Path("data"), Path("teacher"), Path("out"), None)

    def training(self, stage: Literal["teacher", "student"], data: Path, run: Path) -> TrainConfig:
        """The training of the teacher or student, in these folders."""
        section = self.teacher if stage == "teacher" else self.student
        with _named(stage):
            config = _without_folders(TrainConfig, section, {"data": str(data), "run": str(run)})
            preset(config.preset, config.model)
        return config

    def distillation(self, data: Path, teacher: Path, out: Path, seconds: float | None) -> DistillConfig:
        """The distillation in these folders, for at most this long."""
        given = {"data": str(data), "teacher": str(teacher), "out": str(out), "seconds": seconds}
        with _named("distill"):
            return _without_folders(DistillConfig, self.distill, given)


def load_recipe(path: Path, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe of a YAML file, with some values changed."""
    return load_config(Recipe, path, overrides)


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
