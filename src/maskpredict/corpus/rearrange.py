"""Reversed and joined copies of data folders."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from maskpredict.corpus.dataset import (
    DESCRIPTION_FILE,
    CorpusPart,
    Dataset,
    SplitDescription,
    VocabularySizes,
    text_path,
)
from maskpredict.corpus.ids import IdsWriter, ids_path, offsets_path
from maskpredict.errors import UserError
from maskpredict.new_folder import new_folder

SWAPPED = {"source": "target", "target": "source"}
"""First parts of the names of tokenizer files of one side."""


def reverse_dataset(data: Path, out: Path, corpora: Sequence[str] | None = None, suffix: str = "") -> None:
    """Write a data folder with source and target swapped, and with only these training corpora.

    `suffix` is added to their names.
    """
    dataset = Dataset(data)
    before = dataset.description
    known = [part.name for part in before.splits["train"].corpora]
    if unknown := [name for name in corpora or () if name not in known]:
        raise UserError(f"{data} has no corpus {unknown[0]!r}; it has {', '.join(known)}.")
    chosen = [part for part in before.splits["train"].corpora if corpora is None or part.name in corpora]
    names = {name: _other_side(name) for name in before.tokenizers}
    with new_folder(out, overwrite=False, marker=DESCRIPTION_FILE) as folder:
        copy_all_but_train(dataset, folder)
        for old, new in names.items():
            shutil.copyfile(dataset.folder / old, folder / new)
        train = _write_train([(dataset, chosen)], folder)
        renamed = tuple(replace(part, name=part.name + suffix) for part in train.corpora)
        replace(
            before,
            languages=before.languages.reversed,
            vocab_size=VocabularySizes(before.vocab_size.target, before.vocab_size.source),
            tokenizers={names[name]: digest for name, digest in before.tokenizers.items()},
            splits={**before.splits, "train": replace(train, corpora=renamed)},
        ).write(folder)


def join_datasets(folders: Sequence[Path], out: Path) -> None:
    """Write a data folder with the training text of all folders; the other splits are those of the first."""
    datasets = [Dataset(folder) for folder in folders]
    first = datasets[0].description
    for other in datasets[1:]:
        fits = (other.languages, other.description.tokenizers) == (first.languages, first.tokenizers)
        if not fits:
            raise UserError(f"{other.folder} has other languages or another vocabulary than {folders[0]}.")
    with new_folder(out, overwrite=False, marker=DESCRIPTION_FILE) as folder:
        copy_all_but_train(datasets[0], folder)
        train = _write_train([(data, data.description.splits["train"].corpora) for data in datasets], folder)
        replace(first, splits={**first.splits, "train": train}).write(folder)


def copy_all_but_train(dataset: Dataset, folder: Path) -> None:
    """Copy the tokenizers and every split but train."""
    names = [dataset.folder / name for name in dataset.description.tokenizers]
    for split in dataset.splits:
        for language in (dataset.languages.source, dataset.languages.target):
            stem = dataset.folder / f"{split}.{language}"
            names += [] if split == "train" else [ids_path(stem), offsets_path(stem), text_path(stem)]
    for path in names:
        shutil.copyfile(path, folder / path.name)


def _other_side(name: str) -> str:
    """`source.model` -> `target.model`; the name of a joint tokenizer stays."""
    side, dot, suffix = name.partition(".")
    return SWAPPED.get(side, side) + dot + suffix


def _write_train(parts: Sequence[tuple[Dataset, Sequence[CorpusPart]]], folder: Path) -> SplitDescription:
    """Write the training text of the given corpora of each data folder, one after another."""
    first, written = parts[0][0], 0
    sizes = first.description.vocab_size
    stems = [folder / f"train.{language}" for language in (first.languages.source, first.languages.target)]
    corpora: list[CorpusPart] = []
    with IdsWriter(stems[0], sizes.source) as source_writer, IdsWriter(stems[1], sizes.target) as target_writer:
        for dataset, chosen in parts:
            split = dataset.split("train")
            for part in chosen:
                for writer, side in ((source_writer, split.source), (target_writer, split.target)):
                    begin, end = (int(side.offsets[pair]) for pair in (part.first, part.first + part.pairs))
                    writer.extend(np.asarray(side.flat[begin:end]), side.lengths[part.first : part.first + part.pairs])
                corpora.append(replace(part, first=written))
                written += part.pairs
    return SplitDescription(written, tuple(corpora))
