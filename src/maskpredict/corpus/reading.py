"""Parallel text from files: plain or compressed, two aligned files or one of tab-separated pairs.

Lines end at "\\n" and nowhere else. Python would also split at U+2028, U+0085 and others, which do occur
inside sentences and would silently shift every line after them.
"""

from __future__ import annotations

import itertools
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from maskpredict.bounds import PositiveFloat
from maskpredict.config import check_bounds
from maskpredict.corpus.compressed import decompression_errors, open_compressed
from maskpredict.corpus.json_lines import json_columns
from maskpredict.corpus.parquet import is_table_folder, read_columns
from maskpredict.disk_errors import explain_disk_errors
from maskpredict.errors import UserError
from maskpredict.languages import Languages

STDIN = Path("-")
MTDATA_PARTS = "train-parts"
"""Folder of the training corpora below one that `mtdata get` makes, beside `tests`."""
MAX_LINE_BYTES = 1_000_000
"""Longest line of a corpus; a file without line ends, or a small one that unpacks to one, would fill the memory."""


@dataclass(frozen=True)
class CorpusConfig:
    """Parallel text: two aligned files, or one of tab-separated pairs, or Parquet, or a folder of pairs of files.

    Files may be plain or compressed (.gz, .bz2, .xz, .zst).
    """

    name: str = ""
    """Name in reports and of the split of a test set; empty takes the name of the file."""
    source: Path | None = None
    """File of source sentences, one a line."""
    target: Path | None = None
    """File of target sentences, one a line, aligned with `source`."""
    tsv: Path | None = None
    """File of lines `source TAB target`, instead of two files; `-` reads standard input."""
    jsonl: Path | None = None
    """File of JSON objects, one a line, instead."""
    parquet: Path | None = None
    """Parquet or Arrow file, or folder of such files, such as a Hugging Face dataset, instead; needs pyarrow."""
    columns: tuple[str, str] = ("source", "target")
    """Keys or columns of sources and targets; `translation.de` is the field `de` of the column `translation`."""
    folder: Path | None = None
    """Folder of files NAME.LANGUAGE, plain or compressed, as OpusCleaner and mtdata leave them; a corpus each pair."""
    weight: PositiveFloat = 1.0
    """Sampling weight in training, relative to the size of the corpus; 2 draws it twice as often."""

    def __post_init__(self) -> None:
        check_bounds(self)


class Pair(NamedTuple):
    """A source sentence and its translation."""

    source: str
    target: str


def read_pairs(corpus: CorpusConfig) -> Iterator[Pair]:
    """The pairs of a corpus, in order, with control characters replaced by spaces."""
    given = {name for name in ("source", "target", "tsv", "jsonl", "parquet") if getattr(corpus, name) is not None}
    if given == {"source", "target"}:
        return _read_two_files(cast(Path, corpus.source), cast(Path, corpus.target))
    if given == {"tsv"}:
        return _read_tsv(cast(Path, corpus.tsv))
    if given in ({"jsonl"}, {"parquet"}):
        rows = read_rows(corpus.jsonl, corpus.parquet, corpus.columns)
        return (Pair(*map(printable, row)) for row in rows)
    raise UserError(
        f"The corpus {corpus.name or 'without a name'} needs either `source` and `target`, or `tsv`, `jsonl`, "
        "`parquet` or `folder` alone."
    )


def read_rows(jsonl: Path | None, parquet: Path | None, columns: Sequence[str]) -> Iterator[list[str]]:
    """The values of these columns of one of the two files."""
    if jsonl is not None:
        return json_columns(read_lines(jsonl), jsonl, columns)
    return read_columns(cast(Path, parquet), columns)


def kind_of_file(name: str) -> str:
    """The field of a corpus that a file or folder belongs in by its name: tsv, jsonl, parquet, folder; empty for lines.

    `-` is standard input, which is read as TSV.
    """
    path = Path(name)
    if path.is_dir():
        return "parquet" if is_table_folder(path) else "folder"
    if name == "-":
        return "tsv"
    kinds = {".tsv": "tsv", ".jsonl": "jsonl", ".parquet": "parquet", ".arrow": "parquet"}
    return next((kinds[suffix] for suffix in path.suffixes if suffix in kinds), "")


def without_folders(corpora: Sequence[CorpusConfig], languages: Languages) -> list[CorpusConfig]:
    """The corpora, with those in place of a folder that it holds in these languages."""
    return [one for corpus in corpora for one in ([corpus] if corpus.folder is None else _in_folder(corpus, languages))]


def _in_folder(corpus: CorpusConfig, languages: Languages) -> list[CorpusConfig]:
    folder = cast(Path, corpus.folder)
    parts = folder / MTDATA_PARTS
    corpora = []
    for suffix in ("", ".gz", ".bz2", ".xz", ".zst"):
        ending = f".{languages.source}{suffix}"
        for source in sorted((parts if parts.is_dir() else folder).glob(f"*{ending}")):
            stem = source.name.removesuffix(ending)
            target = source.with_name(f"{stem}.{languages.target}{suffix}")
            if target.exists():
                name = re.sub(r"[^\w.-]", "-", f"{corpus.name}-{stem}" if corpus.name else stem)
                corpora.append(CorpusConfig(name, source, target, weight=corpus.weight))
    if not corpora:
        raise UserError(
            f"{folder} has no pairs of files such as NAME.{languages.source}.gz and NAME.{languages.target}.gz; "
            "the languages are written as in their names (mtdata: deu, not de)."
        )
    return corpora


def with_names(corpora: Sequence[CorpusConfig]) -> list[CorpusConfig]:
    """The corpora with unique names: the given one, else `news` for wmt/news.de, or `wmt-news` if that is taken."""

    def short(corpus: CorpusConfig) -> str:
        path = corpus.tsv or corpus.source or corpus.jsonl or corpus.parquet or Path()
        return corpus.name or ("stdin" if path == STDIN else path.name.split(".")[0])

    def long(corpus: CorpusConfig) -> str:
        path = corpus.tsv or corpus.source or corpus.jsonl or corpus.parquet or Path()
        return corpus.name or f"{path.absolute().parent.name}-{short(corpus)}"

    times = Counter(map(short, corpora))
    names = [short(corpus) if times[short(corpus)] == 1 else long(corpus) for corpus in corpora]
    for name, count in Counter(names).items():
        if count > 1:
            raise UserError(f"{count} corpora of one split are called {name!r}; give each its own `name`.")
        if not re.fullmatch(r"[\w.-]+", name):
            raise UserError(f"The corpus name {name!r} is part of file names; use letters, digits, - _ and dots.")
    return [replace(corpus, name=name) for corpus, name in zip(corpora, names, strict=True)]


def make_rereadable(corpus: CorpusConfig, folder: Path) -> CorpusConfig:
    """A corpus that can be read more than once: pipes are copied into `folder`."""

    def rereadable(path: Path | None, side: str) -> Path | None:
        if path is None or (path != STDIN and (path.is_file() or not path.exists())):
            return path
        copy = folder / f"{side}-{sum(1 for _ in folder.iterdir())}"
        with _open(path) as stream, copy.open("wb") as file:
            shutil.copyfileobj(stream, file)
        return copy

    return replace(
        corpus,
        source=rereadable(corpus.source, "source"),
        target=rereadable(corpus.target, "target"),
        tsv=rereadable(corpus.tsv, "tsv"),
        jsonl=rereadable(corpus.jsonl, "jsonl"),
    )


def _read_two_files(source: Path, target: Path) -> Iterator[Pair]:
    source_lines, target_lines = read_lines(source), read_lines(target)
    for number, pair in enumerate(itertools.zip_longest(source_lines, target_lines)):
        if pair[0] is None or pair[1] is None:
            excess = sum(1 for _ in itertools.chain(source_lines, target_lines)) + 1
            counts = (number, number + excess) if pair[0] is None else (number + excess, number)
            raise UserError(
                f"{source} has {counts[0]:,} lines and {target} has {counts[1]:,}; "
                "parallel files need the same number of lines."
            )
        yield Pair(printable(pair[0]), printable(pair[1]))


def _read_tsv(path: Path) -> Iterator[Pair]:
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) != 2:
            raise UserError(
                f"Line {number:,} of {path} has {len(columns)} tab-separated columns, not the two of a pair; "
                "drop further columns with `cut -f 1,2`."
            )
        yield Pair(printable(columns[0]), printable(columns[1]))


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a plain or compressed file, without line ends and byte-order mark."""
    number = 0
    try:
        with explain_disk_errors(path, "read"), _open(path) as stream:
            for number, line in enumerate(iter(partial(stream.readline, MAX_LINE_BYTES + 1), b""), start=1):
                if len(line) > MAX_LINE_BYTES:
                    raise UserError(f"Line {number:,} of {path} is longer than {MAX_LINE_BYTES:,} bytes; split it.")
                text = line.decode("utf-8").removesuffix("\n").removesuffix("\r")
                yield text.removeprefix("\ufeff") if number == 1 else text
    except UnicodeDecodeError as error:
        raise UserError(f"Line {number:,} of {path} is not UTF-8; convert the file with iconv.") from error
    except decompression_errors() as error:
        raise UserError(f"{path} is damaged: it breaks off after line {number:,}.") from error


def _open(path: Path) -> AbstractContextManager[BinaryIO]:
    if path == STDIN:
        return nullcontext(sys.stdin.buffer)
    try:
        return open_compressed(path)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def printable(text: str) -> str:
    """The line with every control character (NUL, tab, U+0085, ...) and line separator replaced by a space.

    None of them is text, and some tools end a string or a line at them.
    """
    return _CONTROL.sub(" ", text)
