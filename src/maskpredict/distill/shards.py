"""Finished shards of a distillation, kept beside the output folder until all are complete.

OUT.shards/recipe.json     their provenance
OUT.shards/00000/          translations of the first `shard_pairs` training sources, as ids

A shard appears whole or not at all, so a killed process loses only the shard in work; a damaged one is made again.
Every source has the same number of rows in its shard: an empty row stands for a translation that is not used.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from maskpredict.checksums import verify_file, write_checksums
from maskpredict.corpus.ids import IdsFile, IdsWriter, ids_path, offsets_path
from maskpredict.disk_errors import DiskError
from maskpredict.distill.choice import Ids
from maskpredict.distill.provenance import Provenance
from maskpredict.errors import UserError
from maskpredict.json_file import read_json
from maskpredict.new_folder import new_folder, remove_folder

RECIPE_FILE, STEM = "recipe.json", "target"

logger = logging.getLogger(__name__)


class Shards:
    """The shards of a distillation of `pairs` training pairs."""

    def __init__(self, out: Path, provenance: Provenance, pairs: int, vocab_size: int) -> None:
        self.folder = out.with_name(f"{out.name}.shards")
        self.provenance, self.vocab_size = provenance, vocab_size
        self.rows_per_source = 1 if provenance.choose == "closest" else provenance.hypotheses
        self.ranges = [
            range(first, min(first + provenance.shard_pairs, pairs))
            for first in range(0, pairs, provenance.shard_pairs)
        ]
        """The training pairs of each shard."""

    def __len__(self) -> int:
        return len(self.ranges)

    def open(self) -> None:
        """Make the folder, or check that it has the same provenance."""
        record = self.folder / RECIPE_FILE
        if not record.exists():
            with new_folder(self.folder, overwrite=False, marker=RECIPE_FILE) as partial:
                (partial / RECIPE_FILE).write_text(json.dumps(asdict(self.provenance), indent=2), encoding="utf-8")
            return
        try:
            difference = self.provenance.difference(read_json(record))
        except (ValueError, AttributeError) as error:
            raise UserError(f"{record} is damaged; delete {self.folder} to start again.") from error
        if difference:
            raise UserError(
                f"{self.folder} was begun with {difference}; "
                "continue with the old value, choose another `out`, or delete that folder to start again."
            )

    def missing(self, first: int = 0, every: int = 1) -> list[int]:
        """Indices of unfinished shards among `first`, `first + every`, ..."""
        return [shard for shard in range(first, len(self), every) if not self._path(shard).exists()]

    def remove_damaged(self) -> None:
        """Remove finished shards whose files are not as they were written, and say so; they are made again."""
        for shard in range(len(self)):
            if self._path(shard).exists():
                try:
                    self.read(shard)
                except DiskError:
                    raise
                except UserError as error:
                    logger.warning("A shard is made again: %s", error)
                    remove_folder(self._path(shard))

    def write(self, shard: int, translations: Sequence[Sequence[Ids]]) -> None:
        """Save the chosen translations of each source of a shard."""
        with new_folder(self._path(shard), overwrite=False, marker=f"{STEM}.ids") as partial:
            with IdsWriter(partial / STEM, self.vocab_size) as writer:
                for chosen in translations:
                    for row in range(self.rows_per_source):
                        writer.append(chosen[row] if row < len(chosen) else [])
            write_checksums(partial)

    def read(self, shard: int) -> IdsFile:
        """The rows of a finished shard."""
        stem = self._path(shard) / STEM
        for path in (ids_path(stem), offsets_path(stem)):
            verify_file(path, "distill again")
        rows = IdsFile(stem)
        if len(rows) != len(self.ranges[shard]) * self.rows_per_source:
            raise UserError(f"{self._path(shard)} is damaged; delete it and distill again.")
        return rows

    def remove(self) -> None:
        """Delete all shards."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, shard: int) -> Path:
        return self.folder / f"{shard:05d}"
