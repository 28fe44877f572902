"""Counts of pairs that `prepare` read, kept and dropped, as data and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from maskpredict.corpus.dataset import VocabularySizes
from maskpredict.languages import Languages


@dataclass(frozen=True)
class CorpusReport:
    """Counts of one corpus. Tokens are subwords; words are separated by spaces; both are those of the kept pairs."""

    split: str
    name: str
    read: int
    kept: int
    dropped: Mapping[str, int]
    """Pairs dropped, by reason; reasons without pairs are left out."""
    source_tokens: int
    target_tokens: int
    source_words: int
    target_words: int


@dataclass(frozen=True)
class PrepareReport:
    """Counts of all corpora."""

    folder: Path
    languages: Languages
    vocab_size: VocabularySizes
    corpora: tuple[CorpusReport, ...]
    seconds: float


def render(report: PrepareReport) -> Table:
    """The report as a table with one row per corpus and one column per reason for dropping pairs."""
    reasons = list(dict.fromkeys(reason for corpus in report.corpora for reason in corpus.dropped))
    table = Table(title=f"{report.folder} ({report.seconds:.0f} s)")
    for heading in ("split", "corpus"):
        table.add_column(heading, overflow="fold")
    languages = (report.languages.source, report.languages.target)
    numbers = ["read", "kept", *reasons, *(f"{code} tokens" for code in languages)]
    for heading in (*numbers, *(f"{code} per word" for code in languages)):
        table.add_column(heading, justify="right", overflow="fold")
    for corpus in report.corpora:
        counts = [corpus.read, corpus.kept, *(corpus.dropped.get(reason, 0) for reason in reasons)]
        table.add_row(
            corpus.split,
            corpus.name,
            *(f"{count:,}" for count in (*counts, corpus.source_tokens, corpus.target_tokens)),
            _ratio(corpus.source_tokens, corpus.source_words),
            _ratio(corpus.target_tokens, corpus.target_words),
        )
    return table


def _ratio(tokens: int, words: int) -> str:
    return f"{tokens / words:.2f}" if words else "-"
