"""Sources of a distillation by text: from files, from standard input, or from a data folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maskpredict.config import to_dict
from maskpredict.corpus.dataset import Dataset, sha256
from maskpredict.corpus.ids import ids_path
from maskpredict.corpus.reading import STDIN, CorpusConfig, Pair, printable, read_lines, read_pairs, with_names
from maskpredict.distill.by_text.config import TextConfig, TextDistillConfig
from maskpredict.errors import UserError

CHECKED_BYTES = 1 << 20
"""Bytes at the start and at the end of a file by which another content is noticed, besides its size."""
NO_REFERENCE = ""


@dataclass(frozen=True)
class SourceCorpus:
    """Sources with their references, if there are any."""

    name: str
    weight: float
    """Sampling weight of a corpus of a data folder."""
    fingerprint: str
    """Tells other text apart; that of standard input is the same for any text."""
    text: TextConfig | None = None
    """Files; None for a part of a data folder."""
    data: Path | None = None
    pairs: range = range(0)
    """Part of the data folder's training pairs."""

    @property
    def has_references(self) -> bool:
        """False for monolingual text. Lines of a TSV file may or may not have one."""
        return self.text is None or self.text.target is not None or self.text.tsv is not None

    def read(self) -> Iterator[Pair]:
        """Sources and references; the reference is `NO_REFERENCE` where there is none."""
        if self.text is None:
            return self._read_data()
        if self.text.tsv is not None:
            return _read_tsv(self.text.tsv)
        if self.text.target is not None:
            return read_pairs(CorpusConfig(source=self.text.source, target=self.text.target))
        assert self.text.source is not None
        return (Pair(printable(line), NO_REFERENCE) for line in read_lines(self.text.source))

    def _read_data(self) -> Iterator[Pair]:
        assert self.data is not None
        dataset = Dataset(self.data)
        train, tokenizers = dataset.split("train"), dataset.tokenizers
        for pair in self.pairs:
            source, target = train.source[pair].tolist(), train.target[pair].tolist()
            yield Pair(tokenizers.source.decode(source), tokenizers.target.decode(target))


def source_corpora(config: TextDistillConfig) -> list[SourceCorpus]:
    """The corpora of a configuration, with unique names; files that cannot be read are refused."""
    if config.data is not None:
        return _corpora_of_data(config.data)
    named = with_names([CorpusConfig(text.name, text.source, text.target, text.tsv) for text in config.text])
    return [
        SourceCorpus(corpus.name, 1.0, _fingerprint(text), text)
        for corpus, text in zip(named, config.text, strict=True)
    ]


def _corpora_of_data(folder: Path) -> list[SourceCorpus]:
    dataset = Dataset(folder)
    languages = (dataset.languages.source, dataset.languages.target)
    fingerprint = " ".join(sha256(ids_path(folder / f"train.{language}")) for language in languages)
    return [
        SourceCorpus(part.name, part.weight, fingerprint, data=folder, pairs=range(part.first, part.first + part.pairs))
        for part in dataset.split("train").corpora
    ]


def _read_tsv(path: Path) -> Iterator[Pair]:
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) > 2:
            raise UserError(
                f"Line {number:,} of {path} has {len(columns)} tab-separated columns, not a source and a reference; "
                "drop further columns with `cut -f 1,2`."
            )
        yield Pair(*map(printable, (*columns, NO_REFERENCE)[:2]))


def _fingerprint(text: TextConfig) -> str:
    paths = [path for path in (text.source, text.target, text.tsv) if path is not None]
    files = [path for path in paths if path != STDIN]
    if (text.tsv is None) == (text.source is None) or (text.tsv is not None and text.target is not None):
        raise UserError(f"The text {text.name or 'without a name'} needs either `source`, or `tsv` alone.")
    digest = hashlib.sha256()
    for path in files:
        for value in _ends(path):
            digest.update(value)
    return digest.hexdigest()


def _ends(path: Path) -> list[bytes]:
    """Size, start and end of a file."""
    try:
        if not path.is_file() and path.exists():  # a pipe, which can be read only once
            return []
        with path.open("rb") as file:
            size, start = path.stat().st_size, file.read(CHECKED_BYTES)
            file.seek(max(0, size - CHECKED_BYTES))
            return [str(size).encode(), start, file.read()]
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error


def provenance(config: TextDistillConfig, digest: str, corpora: list[SourceCorpus]) -> dict[str, Any]:
    """Everything that the distilled text depends on: settings, SHA-256 of the teacher, text."""
    values = {name: value for name, value in to_dict(config).items() if name not in _NO_INFLUENCE}
    return {**values, "teacher_sha256": digest, "corpora": {corpus.name: corpus.fingerprint for corpus in corpora}}


_NO_INFLUENCE = {
    *("teacher", "out", "data", "text", "device", "threads", "processes", "seconds", "shard", "batch_tokens"),
    *("parallel_batches", "command_lines", "command_seconds"),
}
"""Settings that do not change the text: paths, which the checksums stand for, and the use of the machine."""
