"""Sources of a distillation by text: from files, from standard input, or from a data folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from maskpredict.config import to_dict
from maskpredict.corpus.dataset import Dataset, sha256
from maskpredict.corpus.ids import ids_path
from maskpredict.corpus.parquet import table_files
from maskpredict.corpus.reading import (
    STDIN,
    CorpusConfig,
    Pair,
    printable,
    read_lines,
    read_pairs,
    read_rows,
    with_names,
    without_folders,
)
from maskpredict.distill.by_text.config import TextConfig, TextDistillConfig
from maskpredict.errors import UserError
from maskpredict.languages import Languages

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
        if self.text is None or self.text.target is not None or self.text.tsv is not None:
            return True
        return (self.text.jsonl is not None or self.text.parquet is not None) and len(self.text.columns) == 2

    def read(self) -> Iterator[Pair]:
        """Sources and references; the reference is `NO_REFERENCE` where there is none."""
        if self.text is None:
            return self._read_data()
        if self.text.tsv is not None:
            return _read_tsv(self.text.tsv)
        if self.text.target is not None:
            return read_pairs(CorpusConfig(source=self.text.source, target=self.text.target))
        if self.text.source is None:
            rows = read_rows(self.text.jsonl, self.text.parquet, self.text.columns)
            return (Pair(*map(printable, (*row, NO_REFERENCE)[:2])) for row in rows)
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
    languages = Languages(config.source_language, config.target_language)
    texts = [file for text in config.text for file in _files_of(text, languages)]
    fingerprints = [_fingerprint(text) for text in texts]
    named = with_names(
        [CorpusConfig(text.name, text.source, text.target, text.tsv, text.jsonl, text.parquet) for text in texts]
    )
    return [
        SourceCorpus(corpus.name, 1.0, fingerprint, text)
        for corpus, fingerprint, text in zip(named, fingerprints, texts, strict=True)
    ]


def _files_of(text: TextConfig, languages: Languages) -> list[TextConfig]:
    """The text, or those that a folder or a name with `*` stands for."""
    if text.folder is not None:
        corpora = without_folders([CorpusConfig(text.name, folder=text.folder)], languages)
        return [TextConfig(corpus.name, corpus.source, corpus.target) for corpus in corpora]
    patterns = {name: getattr(text, name) for name in ("source", "tsv", "jsonl", "parquet")}
    for name, pattern in patterns.items():
        if pattern is not None and "*" in pattern.name and text.target is None:
            files = sorted(pattern.parent.glob(pattern.name))
            if not files:
                raise UserError(f"there are no files {pattern}.")
            return [replace(text, name=_name_of(text.name, file, languages), **{name: file}) for file in files]
    return [text]


def _name_of(prefix: str, file: Path, languages: Languages) -> str:
    """Name of a text that is one of several files: that of the file without its endings."""
    stem = file
    while stem.suffix in (*_ENDINGS, f".{languages.source}"):
        stem = stem.with_suffix("")
    return re.sub(r"[^\w.-]", "-", f"{prefix}-{stem.name}" if prefix else stem.name)


_ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".txt", ".tsv", ".jsonl", ".parquet", ".arrow")


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
    sources = [path for path in (text.source, text.tsv, text.jsonl, text.parquet) if path is not None]
    if len(sources) != 1 or (text.target is not None and text.source is None):
        raise UserError(
            f"The text {text.name or 'without a name'} needs either `source`, or one of `tsv`, `jsonl`, `parquet` and "
            "`folder` alone."
        )
    digest = hashlib.sha256()
    if text.jsonl is not None or text.parquet is not None:
        digest.update(" ".join(text.columns).encode())
    paths = [*sources, *([text.target] if text.target is not None else [])]
    for file in (file for path in paths if path != STDIN for file in table_files(path)):
        for value in _ends(file):
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
    return {
        **values,
        "kind": config.kind,
        "teacher_sha256": digest,
        "corpora": {corpus.name: corpus.fingerprint for corpus in corpora},
    }


_NO_INFLUENCE = {
    *("teacher", "out", "data", "text", "device", "threads", "processes", "seconds", "shard", "batch_tokens"),
    *("ray", "parallel_batches", "command_lines", "command_seconds"),
}
"""Settings that do not change the text: paths, which the checksums stand for, and the use of the machine."""
