"""The data folder, which `prepare` writes.

dataset.json                          what is in the folder (`DatasetDescription`)
checksums.json                        checksums of all files (`maskpredict/checksums.py`)
tokenizer.model                       or source.model and target.model
SPLIT.LANGUAGE.ids, .offsets          every split, both sides (`corpus/ids.py`)
SPLIT.LANGUAGE.txt                    raw text of every split but train, for scoring
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from maskpredict.checksums import verify_file, write_checksums
from maskpredict.corpus.ids import IdsFile, ids_path, offsets_path
from maskpredict.disk_errors import explain_disk_errors
from maskpredict.errors import UserError
from maskpredict.json_file import json_text, read_json
from maskpredict.languages import Languages
from maskpredict.tokenizer import Tokenizers

FORMAT_VERSION = 1
DESCRIPTION_FILE = "dataset.json"
_ADVICE = "prepare the data again"


@dataclass(frozen=True)
class CorpusPart:
    """A run of consecutive pairs of a split that came from one corpus."""

    name: str
    first: int
    pairs: int
    weight: float = 1.0


@dataclass(frozen=True)
class SplitDescription:
    """The pairs of a split, and the corpora they came from, in order."""

    pairs: int
    corpora: tuple[CorpusPart, ...]


@dataclass(frozen=True)
class VocabularySizes:
    """Number of ids of each side, special ones included."""

    source: int
    target: int


@dataclass(frozen=True)
class DatasetDescription:
    """The content of dataset.json."""

    languages: Languages
    joint_vocabulary: bool
    vocab_size: VocabularySizes
    tokenizers: Mapping[str, str]
    """SHA-256 of each tokenizer file, by file name."""
    splits: Mapping[str, SplitDescription]
    report: Mapping[str, Any] = field(default_factory=dict)
    """Pairs read, kept and dropped; informative only."""

    def write(self, folder: Path) -> None:
        """Write dataset.json into a folder, and the checksums of all that is in it."""
        content = {"format_version": FORMAT_VERSION, **asdict(self)}
        (folder / DESCRIPTION_FILE).write_text(json_text(content), encoding="utf-8")
        write_checksums(folder)

    @classmethod
    def read(cls, folder: Path) -> DatasetDescription:
        """Read dataset.json, or say in one sentence why the folder cannot be used."""
        path = folder / DESCRIPTION_FILE
        if not path.is_file():
            raise UserError(f"{folder} has no {DESCRIPTION_FILE}, so it is not a data folder; run `prepare`.")
        try:
            content = read_json(path)
            version = int(content["format_version"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path} is damaged; prepare the data again.") from error
        if version > FORMAT_VERSION:
            raise UserError(
                f"{folder} has data format {version}, newer than the {FORMAT_VERSION} this version reads; "
                "upgrade maskpredict."
            )
        try:
            description = cls._from_json(content)
        except (KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path} is damaged; prepare the data again.") from error
        verify_file(path, _ADVICE)
        return description

    @classmethod
    def _from_json(cls, content: Mapping[str, Any]) -> DatasetDescription:
        return cls(
            languages=Languages(**content["languages"]),
            joint_vocabulary=content["joint_vocabulary"],
            vocab_size=VocabularySizes(**content["vocab_size"]),
            tokenizers=content["tokenizers"],
            splits={
                name: SplitDescription(split["pairs"], tuple(CorpusPart(**part) for part in split["corpora"]))
                for name, split in content["splits"].items()
            },
            report=content["report"],
        )


@dataclass(frozen=True)
class ParallelTexts:
    """The raw lines of a split."""

    source: list[str]
    target: list[str]


@dataclass(frozen=True)
class ParallelIds:
    """One split: pair i is `source[i]` and `target[i]`."""

    source: IdsFile
    target: IdsFile
    corpora: list[CorpusPart]
    texts: ParallelTexts | None
    """Raw text; None for train, whose text is not kept."""

    def __len__(self) -> int:
        return len(self.source)


class Dataset:
    """A prepared data folder, opened for reading."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.description = DatasetDescription.read(self.folder)
        self._verified: set[str] = set()

    @property
    def languages(self) -> Languages:
        """Source and target language codes."""
        return self.description.languages

    @property
    def splits(self) -> list[str]:
        """Names of the splits: train, valid, and test or several test.NAME."""
        return list(self.description.splits)

    @cached_property
    def tokenizers(self) -> Tokenizers:
        """The folder's tokenizers, read on first use."""
        for name in self.description.tokenizers:
            verify_file(self.folder / name, _ADVICE)
        return Tokenizers.load(self.folder)

    def split(self, name: str) -> ParallelIds:
        """Open one split."""
        if name not in self.description.splits:
            raise UserError(f"{self.folder} has no split {name!r}; it has {', '.join(self.splits)}.")
        description = self.description.splits[name]
        self._verify(name)
        source, target = (IdsFile(self._stem(name, language)) for language in self._sides())
        for side in (source, target):
            if len(side) != description.pairs:
                raise UserError(
                    f"{side.stem} holds {len(side)} sentences, {DESCRIPTION_FILE} says {description.pairs}; "
                    "prepare the data again."
                )
        return ParallelIds(source, target, list(description.corpora), self._texts(name))

    def _verify(self, split: str) -> None:
        """Compare the files of a split with their checksums, once."""
        if split in self._verified:
            return
        for stem in (self._stem(split, language) for language in self._sides()):
            for path in (ids_path(stem), offsets_path(stem), *([] if split == "train" else [text_path(stem)])):
                verify_file(path, _ADVICE)
        self._verified.add(split)

    def check(self) -> list[str]:
        """All problems of the folder, one sentence each; empty if there are none."""
        problems = self._tokenizer_problems()
        for name, description in self.description.splits.items():
            if sum(part.pairs for part in description.corpora) != description.pairs:
                problems.append(f"The corpora of {name} do not add up to its {description.pairs} pairs.")
            problems += self._split_problems(name)
        return problems

    def _sides(self) -> tuple[str, str]:
        return self.languages.source, self.languages.target

    def _stem(self, split: str, language: str) -> Path:
        return self.folder / f"{split}.{language}"

    def _texts(self, split: str) -> ParallelTexts | None:
        if split == "train":
            return None
        source, target = (_lines(text_path(self._stem(split, language))) for language in self._sides())
        return ParallelTexts(source, target)

    def _tokenizer_problems(self) -> list[str]:
        problems = []
        for name, digest in self.description.tokenizers.items():
            path = self.folder / name
            if not path.is_file():
                problems.append(f"{path} is missing.")
            elif sha256(path) != digest:
                problems.append(f"{path} is not the tokenizer the data was encoded with.")
        return problems

    def _split_problems(self, name: str) -> list[str]:
        sizes = (self.description.vocab_size.source, self.description.vocab_size.target)
        stems = [self._stem(name, language) for language in self._sides()]
        paths = [path for stem in stems for path in (ids_path(stem), offsets_path(stem))]
        paths += [] if name == "train" else [text_path(stem) for stem in stems]
        missing = [f"{path} is missing." for path in paths if not path.is_file()]
        if missing:
            return missing
        try:
            split = self.split(name)
        except UserError as error:
            return [str(error)]
        problems = [
            problem
            for side, size in zip((split.source, split.target), sizes, strict=True)
            for problem in _ids_problems(side, size)
        ]
        if split.texts and {len(split.texts.source), len(split.texts.target)} != {len(split)}:
            problems.append(f"The text of split {name} does not have as many lines as the split has pairs.")
        return problems


def _ids_problems(side: IdsFile, vocab_size: int) -> list[str]:
    problems = []
    if side.offsets[0] != 0 or (len(side) and side.lengths.min() < 0):
        problems.append(f"{offsets_path(side.stem)} does not increase from 0.")
    if len(side.flat) and int(side.flat.max()) >= vocab_size:
        problems.append(f"{ids_path(side.stem)} has ids beyond the vocabulary of {vocab_size}.")
    return problems


def text_path(stem: Path) -> Path:
    """`valid.de` -> `valid.de.txt`."""
    return stem.with_name(stem.name + ".txt")


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    with explain_disk_errors(path, "read"), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _lines(path: Path) -> list[str]:
    """The lines of a file, split at newlines only: other separators, such as U+2028, belong to the text."""
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); prepare the data again.") from error
    return text.removesuffix("\n").split("\n") if text else []
