"""Test sets: sentences with one or more references, from files or from a data folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from maskpredict.corpus.dataset import Dataset
from maskpredict.corpus.reading import read_lines
from maskpredict.errors import UserError
from maskpredict.languages import Languages


@dataclass(frozen=True)
class Lines:
    """Lines of text with a name for messages."""

    name: str
    texts: list[str]

    @classmethod
    def read(cls, path: Path) -> Lines:
        """The lines of a plain or compressed file."""
        return cls(str(path), list(read_lines(path)))

    def require_as_many_as(self, other: Lines) -> None:
        """Refuse another number of lines."""
        if len(self.texts) != len(other.texts):
            raise UserError(
                f"{self.name} has {len(self.texts):,} lines and {other.name} has {len(other.texts):,}; "
                "they need the same number of lines."
            )


@dataclass(frozen=True)
class ReferenceSet:
    """A test set."""

    name: str
    references: tuple[Lines, ...]
    source: Lines | None = None
    """None if only finished translations are scored."""
    target_language: str = ""
    """Code that chooses the tokenizer of a metric; empty if unknown."""
    languages: Languages | None = None
    """Languages of the data folder, which a model must have too; None for files."""

    def __post_init__(self) -> None:
        if not self.references:
            raise UserError(f"the test set {self.name} has no reference; give at least one.")
        first = self.references[0]
        if not first.texts:
            raise UserError(f"the test set {self.name} is empty: {first.name} has no lines.")
        for lines in (*self.references[1:], *([self.source] if self.source else [])):
            lines.require_as_many_as(first)

    def __len__(self) -> int:
        return len(self.references[0].texts)


def set_from_files(references: Sequence[Path], source: Path | None = None, target_language: str = "") -> ReferenceSet:
    """A test set from files of aligned lines, named after the first reference."""
    if not references:
        raise UserError("there is nothing to score against; give a file with --reference, or a data folder.")
    return ReferenceSet(
        name=references[0].name,
        references=tuple(map(Lines.read, references)),
        source=Lines.read(source) if source else None,
        target_language=target_language,
    )


def sets_from_data(folder: Path, splits: Sequence[str] = (), target_language: str = "") -> list[ReferenceSet]:
    """Test sets from splits of a data folder; all test splits if none is named."""
    dataset = Dataset(folder)
    tests = [name for name in dataset.splits if name == "test" or name.startswith("test.")]
    if not splits and not tests:
        raise UserError(f"{folder} has no test split; name another with --split, of {', '.join(dataset.splits)}.")
    return [_set_from_split(dataset, split, target_language) for split in dict.fromkeys(splits or tests)]


def _set_from_split(dataset: Dataset, split: str, target_language: str) -> ReferenceSet:
    texts = dataset.split(split).texts
    if texts is None:
        raise UserError(f"{dataset.folder} does not hold the text of {split}, so it cannot be scored on; use another.")
    name = f"the split {split} of {dataset.folder}"
    return ReferenceSet(
        name=split,
        references=(Lines(f"the target side of {name}", texts.target),),
        source=Lines(f"the source side of {name}", texts.source),
        target_language=target_language or dataset.languages.target,
        languages=dataset.languages,
    )
