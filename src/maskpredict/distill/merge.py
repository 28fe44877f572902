"""Finished shards become a data folder: that of the original data with another target side of its train split."""

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
from maskpredict.corpus.rearrange import copy_but_train
from maskpredict.distill.recipe import DistillationRecipe
from maskpredict.distill.shards import Shards
from maskpredict.errors import UserError
from maskpredict.new_folder import new_folder

REPORT_KEY = "distillation"
"""Where dataset.json's report speaks of us."""


@dataclass(frozen=True)
class Counts:
    """What became of the training sources."""

    sources: int
    """Training pairs of the original data."""
    pairs: int
    """Training pairs of the distilled data."""
    too_long: int
    """Sources left out because the teacher has no positions for them."""
    empty: int
    """Sources left out because the teacher said nothing."""


def finished_counts(out: Path, recipe: DistillationRecipe) -> Counts | None:
    """The counts of a data folder that was made by this recipe; None if there is nothing yet."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return None
    report = DatasetDescription.read(out).report.get(REPORT_KEY) if (out / DESCRIPTION_FILE).exists() else None
    if report is None:
        raise UserError(f"{out} is not empty and holds no distilled data; choose another place for `out`.")
    if difference := recipe.difference(report):
        raise UserError(f"{out} holds data distilled with {difference}; choose another place for `out`.")
    return Counts(**{own.name: report[own.name] for own in fields(Counts)})


def merge(dataset: Dataset, shards: Shards, longest_source: int, out: Path) -> None:
    """Write the data folder `out`, whole or not at all."""
    description = dataset.description
    with new_folder(out, overwrite=False, marker=DESCRIPTION_FILE) as folder:
        copy_but_train(dataset, folder)
        kept = _write_train(dataset, shards, folder)
        counts = _counts(kept, dataset.split("train").source, longest_source)
        train = SplitDescription(counts.pairs, _parts(description.splits["train"].corpora, kept))
        replace(
            description,
            splits={**description.splits, "train": train},
            report={**description.report, REPORT_KEY: {**asdict(shards.recipe), **asdict(counts)}},
        ).write(folder)


def _write_train(dataset: Dataset, shards: Shards, folder: Path) -> npt.NDArray[np.int64]:
    """Write both sides of the new train split; returns how many pairs each source has in it."""
    sources, sizes = dataset.split("train").source, dataset.description.vocab_size
    kept = np.zeros(len(sources), np.int64)
    with (
        IdsWriter(folder / f"train.{dataset.languages.source}", sizes.source) as source_writer,
        IdsWriter(folder / f"train.{dataset.languages.target}", sizes.target) as target_writer,
    ):
        for shard, own in enumerate(shards.ranges):
            targets = shards.read(shard)
            used = targets.lengths > 0
            target_writer.extend(targets.flat, targets.lengths[used])
            indices = np.repeat(np.array(own), shards.rows_per_source)[used]
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
    """The same corpora with the pairs that each has now."""
    ends = np.concatenate([[0], np.cumsum(kept)])
    return tuple(
        replace(part, first=int(ends[part.first]), pairs=int(ends[part.first + part.pairs] - ends[part.first]))
        for part in corpora
    )
