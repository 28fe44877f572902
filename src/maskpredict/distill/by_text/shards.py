"""Shards of a distillation by text, kept beside the output folder until all are complete.

OUT.shards/recipe.json            provenance, and the number of sources of each shard
OUT.shards/000000.source.zst       sources of the first shard; 000000.reference.zst, their references if they have some
OUT.shards/000000/                 the finished shard: source and target, aligned, and counts.json

The text is split once, so that any number of processes and machines can make shards without reading all of it. A shard
appears whole or not at all: a killed process loses only the one in work, and the same command continues. All files have
checksums; a finished shard that is damaged is made again.
"""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from maskpredict.checksums import Checksums, write_checksums
from maskpredict.corpus.cleaning import DigestSet, text_digest
from maskpredict.corpus.encoding import blocks
from maskpredict.corpus.reading import Pair
from maskpredict.disk_errors import DiskError
from maskpredict.distill.by_text.config import TextDistillConfig
from maskpredict.distill.by_text.filters import Dropped, source_reason
from maskpredict.distill.by_text.shard_files import (
    COUNTS_FILE,
    REFERENCE,
    SOURCE,
    STORED,
    TARGET,
    ShardFiles,
    pack_sources,
)
from maskpredict.distill.by_text.sources import NO_REFERENCE, SourceCorpus
from maskpredict.errors import UserError
from maskpredict.json_file import read_json
from maskpredict.new_folder import new_folder, remove_folder
from maskpredict.progress import Task

RECIPE_FILE = "recipe.json"

logger = logging.getLogger(__name__)


@dataclass
class SplitCorpus:
    """A corpus as it was split; field names are JSON keys."""

    name: str
    weight: float
    references: bool
    read: int = 0
    """Lines read."""
    dropped: dict[str, int] = field(default_factory=dict)
    """Sources that are not translated, by reason."""
    shards: list[int] = field(default_factory=list)
    """Number of sources of each shard."""


class TextShards:
    """The shards of a distillation by text."""

    def __init__(self, folder: Path, provenance: dict[str, Any], corpora: Sequence[SplitCorpus]) -> None:
        self.folder, self.provenance, self.corpora = folder, provenance, list(corpora)
        self.owners = [corpus for corpus in corpora for _ in corpus.shards]
        """Corpus of each shard."""
        self.sizes = [size for corpus in corpora for size in corpus.shards]
        """Number of sources of each shard."""

    @classmethod
    def read(cls, folder: Path) -> TextShards:
        """The shards of a folder that `split` has made."""
        record = folder / RECIPE_FILE
        try:
            content = read_json(record)
            return cls(folder, content["provenance"], [SplitCorpus(**corpus) for corpus in content["corpora"]])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{record} is damaged; delete {folder} to start again.") from error

    @cached_property
    def source_checksums(self) -> Checksums:
        """Checksums of the sources of all shards."""
        return Checksums(self.folder, f"delete {self.folder} to start again")

    def __len__(self) -> int:
        return len(self.sizes)

    def missing(self, first: int = 0, every: int = 1) -> list[int]:
        """Those of the shards `first`, `first + every`, ... that are not finished."""
        made = set(os.listdir(self.folder))  # faster than a question for each of many thousand
        return [shard for shard in range(first, len(self), every) if self._path(shard).name not in made]

    def is_made(self, shard: int) -> bool:
        """Whether a shard is finished."""
        return self._path(shard).exists()

    def remove_damaged(self, first: int, every: int) -> None:
        """Remove those finished shards that are not as they were written, and say so; they are made again."""
        for shard in range(first, len(self), every):
            path = self._path(shard)
            if not path.exists():
                continue
            try:
                checksums = Checksums(path, "distill again")
                for name in (COUNTS_FILE, *(self.path(shard, side).name for side in (SOURCE, TARGET))):
                    checksums.verify(name)
            except DiskError:
                raise
            except UserError as error:
                logger.warning("A shard is made again: %s", error)
                remove_folder(path)

    def sources(self, shard: int) -> ShardFiles:
        """The files of a shard's sources and references."""
        sides = (SOURCE, REFERENCE) if self.owners[shard].references else (SOURCE,)
        paths = {f"{side}{STORED}": _stored(self.folder, shard, f"{side}{STORED}") for side in sides}
        for path in paths.values():
            self.source_checksums.verify(path.name)
        return {name: path.read_bytes() for name, path in paths.items()}

    def write(self, shard: int, files: ShardFiles) -> None:
        """Save a finished shard, unless another process was faster."""
        with new_folder(self._path(shard), overwrite=False, marker=COUNTS_FILE, first_wins=True) as partial:
            for name, content in files.items():
                (partial / name).write_bytes(content)
            write_checksums(partial)

    def path(self, shard: int, side: str) -> Path:
        """File of one side of a finished shard."""
        return self._path(shard) / f"{side}.{self.provenance['compression']}"

    def counts(self, shard: int) -> dict[str, Any]:
        """Pairs and dropped translations of a finished shard."""
        content: dict[str, Any] = read_json(self._path(shard) / COUNTS_FILE)
        return content

    def _path(self, shard: int) -> Path:
        return self.folder / f"{shard:06d}"


def split(
    folder: Path, provenance: dict[str, Any], corpora: Sequence[SourceCorpus], config: TextDistillConfig, task: Task
) -> None:
    """Write the sources of all corpora into a new folder of shards, without those that need no translation."""
    with new_folder(folder, overwrite=False, marker=RECIPE_FILE, first_wins=True) as partial:
        splitter = _Splitter(partial, config, task)
        for corpus in corpora:
            splitter.add(corpus)
        content = {"provenance": provenance, "corpora": [asdict(done) for done in splitter.corpora]}
        (partial / RECIPE_FILE).write_text(json.dumps(content, indent=2, ensure_ascii=False), encoding="utf-8")
        write_checksums(partial)


class _Splitter:
    def __init__(self, folder: Path, config: TextDistillConfig, task: Task) -> None:
        self.folder, self.config, self.task = folder, config, task
        self.seen, self.shards = DigestSet(), 0
        self.corpora: list[SplitCorpus] = []

    def add(self, corpus: SourceCorpus) -> None:
        """Write the shards of a corpus."""
        done = SplitCorpus(corpus.name, corpus.weight, corpus.has_references)
        waiting: list[Pair] = []
        for pairs in self._kept(corpus, done):
            waiting += pairs
            while len(waiting) >= self.config.shard_lines:
                self._write(done, waiting[: self.config.shard_lines])
                del waiting[: self.config.shard_lines]
        if waiting:
            self._write(done, waiting)
        if not done.shards and not self.config.every_line:
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in done.dropped.items())
            raise UserError(f"The text {corpus.name} has no sentence to translate ({reasons or 'it is empty'}).")
        self.corpora.append(done)

    def _kept(self, corpus: SourceCorpus, done: SplitCorpus) -> Iterator[Sequence[Pair]]:
        """Blocks of pairs to translate."""
        dropped: Counter[Dropped] = Counter()
        for block in blocks(corpus.read(), self.config.shard_lines):
            done.read += len(block)
            self.task.advance(len(block))
            if self.config.every_line:
                yield block
                continue
            reasons = [source_reason(pair.source, self.config.filters) for pair in block]
            dropped.update(reason for reason in reasons if reason)
            kept = [pair for pair, reason in zip(block, reasons, strict=True) if reason is None]
            if kept and self.config.filters.drop_duplicates:
                is_new = self.seen.add(np.array([text_digest(pair.source) for pair in kept], dtype=np.uint64))
                dropped[Dropped.DUPLICATE] += int((~is_new).sum())
                kept = [pair for pair, new in zip(kept, is_new, strict=True) if new]
            done.dropped = {reason.value: count for reason, count in dropped.items() if count}
            if self.config.choose == "closest":
                _check_references(corpus, kept)
            yield kept

    def _write(self, done: SplitCorpus, pairs: Sequence[Pair]) -> None:
        for name, content in pack_sources(pairs, references=done.references).items():
            _stored(self.folder, self.shards, name).write_bytes(content)
        done.shards.append(len(pairs))
        self.shards += 1


def _check_references(corpus: SourceCorpus, pairs: Sequence[Pair]) -> None:
    if any(pair.target == NO_REFERENCE for pair in pairs):
        raise UserError(
            f"The text {corpus.name} has sources without a reference; choose=closest needs parallel text, "
            "choose=best and n_best do not."
        )


def _stored(folder: Path, shard: int, name: str) -> Path:
    return folder / f"{shard:06d}.{name}"
