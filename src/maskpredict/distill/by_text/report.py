"""Outcome of a distillation by text, as data and as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from maskpredict.distill.by_text.shards import TextShards

REPORT_FILE = "report.json"


@dataclass(frozen=True)
class DistilledCorpus:
    """Counts of one corpus; field names are JSON keys."""

    name: str
    read: int
    """Lines read."""
    translated: int
    """Sources that the teacher was given."""
    pairs: int
    """Pairs kept."""
    dropped: Mapping[str, int]
    """Sources and translations dropped, by reason."""


@dataclass(frozen=True)
class TextDistillReport:
    """Outcome of a call of `distill_text`."""

    finished: bool
    """False when its time was up, or if it makes only some of the shards; the same call continues."""
    out: Path
    shards: int
    shards_done: int
    corpora: tuple[DistilledCorpus, ...] = ()
    """Counts of the finished folder; none while unfinished."""

    @property
    def pairs(self) -> int:
        """Pairs of all corpora."""
        return sum(corpus.pairs for corpus in self.corpora)


def count_corpora(shards: TextShards) -> tuple[DistilledCorpus, ...]:
    """The counts of finished shards."""
    pairs: Counter[str] = Counter()
    dropped = {corpus.name: Counter(corpus.dropped) for corpus in shards.corpora}
    for shard, owner in enumerate(shards.owners):
        counts = shards.counts(shard)
        pairs[owner.name] += counts["pairs"]
        dropped[owner.name].update(counts["dropped"])
    return tuple(
        DistilledCorpus(
            name=corpus.name,
            read=corpus.read,
            translated=sum(corpus.shards),
            pairs=pairs[corpus.name],
            dropped={reason: count for reason, count in dropped[corpus.name].items() if count},
        )
        for corpus in shards.corpora
    )


def report_of(out: Path, content: Mapping[str, Any]) -> TextDistillReport:
    """The report of a finished folder, from the content that `merge` stored."""
    corpora = tuple(DistilledCorpus(**corpus) for corpus in content["corpora"])
    return TextDistillReport(True, out, content["shards"], content["shards"], corpora)


def render(report: TextDistillReport) -> Table:
    """The counts as a table with one row per corpus and one column per reason for dropping something."""
    reasons = list(dict.fromkeys(reason for corpus in report.corpora for reason in corpus.dropped))
    table = Table("text", title=str(report.out))
    for heading in ("read", "translated", *reasons, "pairs"):
        table.add_column(heading, justify="right", overflow="fold")
    for corpus in report.corpora:
        dropped = [corpus.dropped.get(reason, 0) for reason in reasons]
        table.add_row(
            corpus.name, *(f"{count:,}" for count in (corpus.read, corpus.translated, *dropped, corpus.pairs))
        )
    return table
