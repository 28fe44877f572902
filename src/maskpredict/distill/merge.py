"""Merge finished shards into a data folder: the original one with new targets in its train split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from maskpredict.corpus.dataset import (
    DESCRIPTION_FILE,
    CorpusPart,
    Dataset,
    DatasetDescription,
    SplitDescription,
)
from maskpredict.corpus.ids import IdsFile, IdsWriter
from maskpredict.corpus.rearrange import copy_all_but_train
from maskpredict.distill.provenance import Provenance
from maskpredict.distill.shards import Shards
from maskpredict.errors import UserError
from maskpredict.new_folder import new_folder

REPORT_KEY = "distillation"
"""Key of the distillation in the report of dataset.json."""


@dataclass(frozen=True)
class Counts:
    """Training pairs before and after."""

    sources: int
    """Training pairs of the original data."""
    pairs: int
    """Training pairs of the distilled data."""
    too_long: int
    """Sources dropped because they are too long for the teacher."""
    empty: int
    """Sources dropped because their translation is empty."""


def finished_counts(out: Path, provenance: Provenance) -> Counts | None:
    """The counts of a finished data folder with this provenance; None if there is no folder yet."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return None
    report = DatasetDescription.read(out).report.get(REPORT_KEY) if (out / DESCRIPTION_FILE).exists() else None
    if report is None:
        raise UserError(f"{out} is not empty and holds no distilled data; choose another place for `out`.")
    if difference := provenance.difference(report):
        raise UserError(f"{out} holds data distilled with {difference}; choose another place for `out`.")
    return Counts(**{count.name: report[count.name] for count in fields(Counts)})


def merge(dataset: Dataset, shards: Shards, longest_source: int, out: Path) -> None:
    """Write the data folder `out`, whole or not at all."""
    description = dataset.description
    with new_folder(out, overwrite=False, marker=DESCRIPTION_FILE) as folder:
        copy_all_but_train(dataset, folder)
        kept = _write_train(dataset, shards, folder)
        counts = _counts(kept, dataset.split("train").source, longest_source)
        train = SplitDescription(counts.pairs, _parts(description.splits["train"].corpora, kept))
        replace(
            description,
            splits={**description.splits, "train": train},
            report={**description.report, REPORT_KEY: {**asdict(shards.provenance), **asdict(counts)}},
        ).write(folder)


def _write_train(dataset: Dataset, shards: Shards, folder: Path) -> npt.NDArray[np.int64]:
    """Write both sides of the new train split; returns the number of pairs of each source."""
    sources, sizes = dataset.split("train").source, dataset.description.vocab_size
    kept = np.zeros(len(sources), np.int64)
    with (
        IdsWriter(folder / f"train.{dataset.languages.source}", sizes.source) as source_writer,
        IdsWriter(folder / f"train.{dataset.languages.target}", sizes.target) as target_writer,
    ):
        for shard, pairs in enumerate(shards.ranges):
            targets = shards.read(shard)
            used = targets.lengths > 0
            target_writer.extend(targets.flat, targets.lengths[used])
            indices = np.repeat(np.array(pairs), shards.rows_per_source)[used]
            texts = [sources[int(index)] for index in indices]
            flat = np.concatenate(texts) if texts else np.zeros(0, np.int64)
            source_writer.extend(flat, sources.lengths[indices])
            np.add.at(kept, indices, 1)
    return kept


def _counts(kept: npt.NDArray[np.int64], sources: IdsFile, longest_source: int) -> Counts:
    if not kept.any():
        raise UserError("the teacher has no translation for any source; train it longer.")
    too_long = int((sources.lengths + 1 > longest_source).sum())
    return Counts(len(sources), int(kept.sum()), too_long, int((kept == 0).sum()) - too_long)


def _parts(corpora: Sequence[CorpusPart], kept: npt.NDArray[np.int64]) -> tuple[CorpusPart, ...]:
    """The corpora with their new positions and sizes."""
    ends = np.concatenate([[0], np.cumsum(kept)])
    return tuple(
        replace(part, first=int(ends[part.first]), pairs=int(ends[part.first + part.pairs] - ends[part.first]))
        for part in corpora
    )
