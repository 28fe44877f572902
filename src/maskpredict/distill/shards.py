"""Finished pieces of a distillation, kept beside the folder to be until they are complete.

OUT.shards/recipe.json     what the pieces were made with
OUT.shards/00000/          translations of the first `shard_pairs` training sources, as ids

A piece appears whole or not at all, so whatever kills the process, only the piece in work is lost. Every source has
the same number of rows in its piece: an empty row stands for a translation that is not to be used.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from maskpredict.corpus.ids import IdsFile, IdsWriter
from maskpredict.distill.choice import Ids
from maskpredict.distill.recipe import DistillationRecipe
from maskpredict.errors import UserError
from maskpredict.new_folder import new_folder

RECIPE_FILE, STEM = "recipe.json", "target"


class Shards:
    """The pieces of one distillation of `pairs` training pairs."""

    def __init__(self, out: Path, recipe: DistillationRecipe, pairs: int, vocab_size: int) -> None:
        self.folder = out.with_name(f"{out.name}.shards")
        self.recipe, self.vocab_size = recipe, vocab_size
        self.rows_per_source = 1 if recipe.choose == "closest" else recipe.hypotheses
        self.ranges = [
            range(first, min(first + recipe.shard_pairs, pairs)) for first in range(0, pairs, recipe.shard_pairs)
        ]
        """The training pairs of each piece."""

    def __len__(self) -> int:
        return len(self.ranges)

    def open(self) -> None:
        """Make the folder, or check that what lies there was made with the same recipe."""
        record = self.folder / RECIPE_FILE
        if not record.exists():
            with new_folder(self.folder, overwrite=False, marker=RECIPE_FILE) as partial:
                (partial / RECIPE_FILE).write_text(json.dumps(asdict(self.recipe), indent=2), encoding="utf-8")
            return
        try:
            difference = self.recipe.difference(json.loads(record.read_text(encoding="utf-8")))
        except (ValueError, AttributeError) as error:
            raise UserError(f"{record} is damaged; delete {self.folder} to start again.") from error
        if difference:
            raise UserError(
                f"{self.folder} was begun with {difference}; "
                "continue with the old value, choose another `out`, or delete that folder to start again."
            )

    def missing(self, rank: int = 0, workers: int = 1) -> list[int]:
        """The pieces that this worker still has to make."""
        return [shard for shard in range(rank, len(self), workers) if not self._path(shard).exists()]

    def write(self, shard: int, translations: Sequence[Sequence[Ids]]) -> None:
        """Save the chosen translations of each source of a piece."""
        with (
            new_folder(self._path(shard), overwrite=False, marker=f"{STEM}.ids") as partial,
            IdsWriter(partial / STEM, self.vocab_size) as writer,
        ):
            for own in translations:
                for row in range(self.rows_per_source):
                    writer.append(own[row] if row < len(own) else [])

    def read(self, shard: int) -> IdsFile:
        """The rows of a finished piece."""
        rows = IdsFile(self._path(shard) / STEM)
        if len(rows) != len(self.ranges[shard]) * self.rows_per_source:
            raise UserError(f"{self._path(shard)} is damaged; delete it and distill again.")
        return rows

    def remove(self) -> None:
        """Delete the pieces."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, shard: int) -> Path:
        return self.folder / f"{shard:05d}"
