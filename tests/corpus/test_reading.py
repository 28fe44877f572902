"""Reading parallel text: every file type, hostile characters, and every mistake a user can make."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from maskpredict.corpus.compressed import compress
from maskpredict.corpus.reading import (
    CorpusConfig,
    make_rereadable,
    read_lines,
    read_pairs,
    with_names,
    without_folders,
)
from maskpredict.errors import UserError
from maskpredict.languages import Languages

TEXT = "eins\nzwei 😀\ndrei\n".encode()
LINES = ["eins", "zwei 😀", "drei"]


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstandard.compress)],
)
def test_plain_and_compressed_files_read_alike(tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]) -> None:
    source, target = tmp_path / f"a.de{suffix}", tmp_path / f"a.en{suffix}"
    source.write_bytes(compress(TEXT))
    target.write_bytes(compress(TEXT))
    read = list(read_pairs(CorpusConfig(source=source, target=target)))
    assert read == list(zip(LINES, LINES, strict=True))


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"a\x00b\tc\x1bd\n", ["a b c d"]),
        ("a\u2028b\u2029c\u0085d\x0be\x0cf\n".encode(), ["a b c d e f"]),
        ("\ufeffa\n\ufeffb\n".encode(), ["a", "\ufeffb"]),
        ("👩‍👩‍👧 e\u0301\n".encode(), ["👩‍👩‍👧 e\u0301"]),
        (b"a\rb\n", ["a b"]),
    ],
    ids=["crlf", "no-final-newline", "empty-line", "control", "separators", "bom", "emoji", "lone-cr"],
)
def test_lines_end_at_newlines_only_and_hold_no_control_characters(
    tmp_path: Path, raw: bytes, lines: list[str]
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(raw)
    assert [pair.source for pair in read_pairs(CorpusConfig(source=path, target=path))] == lines


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_compressed_files_may_be_concatenated(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(compress(TEXT, suffix) + compress(TEXT * 10_000, suffix) + compress(b"", suffix))
    assert list(read_lines(path)) == LINES * 10_001


def test_tsv_holds_a_pair_a_line(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress(b"ja\tyes\r\nnein\tno\n"))
    assert list(read_pairs(CorpusConfig(tsv=path))) == [("ja", "yes"), ("nein", "no")]


def test_a_tsv_line_with_other_than_two_columns_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"ja\tyes\nnein\tno\tCC-BY\n")
    with pytest.raises(UserError, match=r"Line 2 of .*a\.tsv has 3 tab-separated columns"):
        list(read_pairs(CorpusConfig(tsv=path)))


@pytest.mark.parametrize(("source_lines", "target_lines"), [(3, 5), (5, 3), (0, 2)])
def test_misaligned_files_are_both_named_with_their_line_counts(
    tmp_path: Path, source_lines: int, target_lines: int
) -> None:
    source, target = tmp_path / "a.de", tmp_path / "a.en"
    source.write_bytes(b"x\n" * source_lines)
    target.write_bytes(b"x\n" * target_lines)
    expected = f"{source} has {source_lines} lines and {target} has {target_lines};"
    with pytest.raises(UserError, match=re.escape(expected)):
        list(read_pairs(CorpusConfig(source=source, target=target)))


def test_bad_utf8_is_named_with_its_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "latin1.de"
    path.write_bytes(b"gut\n" * 4 + "schön\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"Line 5 of .*latin1\.de is not UTF-8"):
        list(read_pairs(CorpusConfig(source=path, target=path)))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.de"
    with pytest.raises(UserError, match=r"nowhere\.de cannot be read: No such file"):
        list(read_pairs(CorpusConfig(tsv=path)))


@pytest.mark.parametrize(
    ("suffix", "raw"),
    [
        (".gz", gzip.compress(TEXT * 1000)[:60]),
        (".bz2", bz2.compress(TEXT * 1000)[:60]),
        (".xz", lzma.compress(TEXT * 1000)[:60]),
        (".zst", zstandard.compress(TEXT * 1000)[:25]),
        (".gz", TEXT),
        (".bz2", TEXT),
        (".xz", TEXT),
        (".zst", TEXT),
    ],
    ids=["cut-gz", "cut-bz2", "cut-xz", "cut-zst", "no-gz", "no-bz2", "no-xz", "no-zst"],
)
def test_damaged_compression_is_explained(tmp_path: Path, suffix: str, raw: bytes) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(raw)
    with pytest.raises(UserError, match="is damaged"):
        list(read_pairs(CorpusConfig(source=path, target=path)))


@pytest.mark.parametrize(
    "corpus",
    [
        CorpusConfig(),
        CorpusConfig(source=Path("a")),
        CorpusConfig(source=Path("a"), tsv=Path("b")),
        CorpusConfig(source=Path("a"), target=Path("b"), tsv=Path("c")),
    ],
)
def test_a_corpus_is_two_files_or_a_tsv(corpus: CorpusConfig) -> None:
    sentence = "needs either `source` and `target`, or `tsv`, `jsonl`, `parquet` or `folder` alone"
    with pytest.raises(UserError, match=sentence):
        read_pairs(corpus)


@pytest.mark.parametrize("weight", [0.0, -1.0, float("inf"), float("nan")])
def test_a_weight_is_a_positive_number(weight: float) -> None:
    with pytest.raises(UserError, match="must be a number above 0"):
        CorpusConfig(tsv=Path("a"), weight=weight)


def test_standard_input_can_be_read_more_than_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"ja\tyes\nnein\tno\n")))
    corpus = make_rereadable(CorpusConfig(tsv=Path("-"), weight=3.0), tmp_path)
    assert list(read_pairs(corpus)) == list(read_pairs(corpus)) == [("ja", "yes"), ("nein", "no")]
    assert corpus.weight == 3.0


def test_named_pipes_can_be_read_more_than_once(tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    source, target = tmp_path / "source.fifo", tmp_path / "target.fifo"
    for path, text in ((source, b"ja\n"), (target, b"yes\n")):
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=(text,), daemon=True).start()
    corpus = make_rereadable(CorpusConfig(source=source, target=target), copies)
    assert list(read_pairs(corpus)) == list(read_pairs(corpus)) == [("ja", "yes")]


def test_ordinary_files_are_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"ja\tyes\n")
    copies = tmp_path / "copies"
    copies.mkdir()
    assert make_rereadable(CorpusConfig(tsv=path), copies) == CorpusConfig(tsv=path)


def test_names_come_from_files_and_take_the_folder_in_when_they_would_collide() -> None:
    corpora = [
        CorpusConfig(source=Path("wmt/news.de.xz"), target=Path("wmt/news.en.xz")),
        CorpusConfig(source=Path("multi/train.de"), target=Path("multi/train.en")),
        CorpusConfig(source=Path("euro/train.de"), target=Path("euro/train.en")),
        CorpusConfig(tsv=Path("-")),
        CorpusConfig(name="mine", tsv=Path("x.tsv")),
    ]
    assert [c.name for c in with_names(corpora)] == ["news", "multi-train", "euro-train", "stdin", "mine"]


@pytest.mark.parametrize(
    ("names", "message"),
    [(["a", "a"], "2 corpora of one split are called 'a'"), (["a/b"], "'a/b' is part of file names")],
)
def test_names_must_differ_and_suit_file_names(names: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        with_names([CorpusConfig(name=name, tsv=Path("x")) for name in names])


def test_a_folder_holds_a_corpus_for_each_pair_of_files(tmp_path: Path) -> None:
    for name in ("news-2019.de.gz", "news-2019.en.gz", "talks.de.zst", "talks.en.zst", "alone.de.gz", "books.de"):
        (tmp_path / name).write_bytes(compress(TEXT, Path(name).suffix))
    (tmp_path / "books.en").write_bytes(TEXT)
    corpora = without_folders([CorpusConfig(folder=tmp_path, weight=2.0)], Languages("de", "en"))
    assert [(corpus.name, corpus.weight) for corpus in corpora] == [("books", 2.0), ("news-2019", 2.0), ("talks", 2.0)]
    assert [list(read_pairs(corpus)) for corpus in corpora] == [list(zip(LINES, LINES, strict=True))] * 3
    with pytest.raises(UserError, match=r"has no pairs of files such as NAME\.fr\.gz and NAME\.en\.gz"):
        without_folders([CorpusConfig(folder=tmp_path)], Languages("fr", "en"))


def test_parquet_holds_columns_or_structs(tmp_path: Path) -> None:
    texts = [f"eins {number}\n" for number in range(50_000)]
    pyarrow.parquet.write_table(pyarrow.table({"source": texts, "target": texts}), tmp_path / "plain.parquet")
    pairs = list(read_pairs(CorpusConfig(parquet=tmp_path / "plain.parquet")))
    assert (len(pairs), pairs[-1]) == (50_000, ("eins 49999 ", "eins 49999 "))
    folder = tmp_path / "dataset" / "train"
    folder.mkdir(parents=True)
    for number in range(2):
        table = pyarrow.table(
            {"id": [1, 2], "translation": [{"de": f"ja {number}", "en": "yes"}, {"de": "nein", "en": None}]}
        )
        pyarrow.parquet.write_table(table, folder / f"{number}.parquet")
    corpus = CorpusConfig(parquet=tmp_path / "dataset", columns=("translation.de", "translation.en"))
    assert list(read_pairs(corpus)) == [("ja 0", "yes"), ("nein", ""), ("ja 1", "yes"), ("nein", "")]
    with pytest.raises(UserError, match=r"has no column 'source'; it has id, translation.de, translation.en"):
        list(read_pairs(CorpusConfig(parquet=tmp_path / "dataset")))


def save_dataset(folder: Path, batches: int) -> None:
    """Write a folder as `save_to_disk` of Hugging Face datasets does: a stream of batches, and the files' names."""
    folder.mkdir(parents=True)
    schema = pyarrow.schema({"id": pyarrow.int64(), "translation": pyarrow.struct({"de": pyarrow.string()})})
    for name in ("data-00000-of-00001.arrow", "cache-1234.arrow"):
        with pyarrow.ipc.new_stream(str(folder / name), schema) as stream:
            for number in range(batches if name.startswith("data") else 1):
                rows = [{"id": number, "translation": {"de": f"ja {number}"}}, {"id": number, "translation": None}]
                stream.write_batch(pyarrow.RecordBatch.from_pylist(rows, schema))
    (folder / "state.json").write_text('{"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}')


def test_a_saved_hugging_face_dataset_is_read_without_its_cache(tmp_path: Path) -> None:
    save_dataset(tmp_path / "dataset" / "train", batches=3)
    columns = ("translation.de", "id")
    corpus = CorpusConfig(parquet=tmp_path / "dataset" / "train", columns=columns)
    expected = [pair for number in range(3) for pair in ((f"ja {number}", str(number)), ("", str(number)))]
    assert list(read_pairs(corpus)) == expected
    (tmp_path / "dataset" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(UserError, match=r"of several splits; name one: .*dataset/train, .*dataset/test"):
        list(read_pairs(CorpusConfig(parquet=tmp_path / "dataset", columns=columns)))
    with pytest.raises(UserError, match=r"has no column 'de'; it has id, translation.de"):
        list(read_pairs(CorpusConfig(parquet=tmp_path / "dataset" / "train", columns=("de", "id"))))
    (tmp_path / "none.arrow").write_text("ARROW")
    with pytest.raises(UserError, match="cannot be read as Arrow"):
        list(read_pairs(CorpusConfig(parquet=tmp_path / "none.arrow")))


def test_json_lines_hold_keys_or_objects(tmp_path: Path) -> None:
    lines = ['{"translation": {"de": "ja\\n", "en": "yes"}, "id": 1}', '{"translation": {"de": "nein", "en": null}}']
    file = tmp_path / "news.jsonl.zst"
    file.write_bytes(compress("\n".join(lines).encode(), ".zst"))
    corpus = CorpusConfig(jsonl=file, columns=("translation.de", "translation.en"))
    assert list(read_pairs(corpus)) == [("ja ", "yes"), ("nein", "")]
    with pytest.raises(UserError, match=r"Line 1 of .* has no 'source'; it has translation, id"):
        list(read_pairs(CorpusConfig(jsonl=file)))
    file.write_bytes(compress(b'["ja"]\n', ".zst"))
    with pytest.raises(UserError, match=r"Line 1 of .* has no 'source'; it is no object"):
        list(read_pairs(CorpusConfig(jsonl=file)))
    file.write_bytes(compress(b"ja\n", ".zst"))
    with pytest.raises(UserError, match=r"Line 1 of .* is not JSON"):
        list(read_pairs(CorpusConfig(jsonl=file)))


def test_the_folder_of_mtdata_stands_for_its_training_parts(tmp_path: Path) -> None:
    for name in ("train-parts/Statmt-news-16-deu-eng", "tests/Statmt-newstest-2018-deu-eng", "train"):
        for language in ("deu", "eng"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / f"{name}.{language}").write_bytes(TEXT)
    (corpus,) = without_folders([CorpusConfig(folder=tmp_path)], Languages("deu", "eng"))
    assert corpus.name == "Statmt-news-16-deu-eng"
    assert len(list(read_pairs(corpus))) == 3
    with pytest.raises(UserError, match="mtdata: deu, not de"):
        without_folders([CorpusConfig(folder=tmp_path)], Languages("de", "en"))


def test_parquet_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").write_text("PAR")
    with pytest.raises(UserError, match="cannot be read as Parquet"):
        list(read_pairs(CorpusConfig(parquet=tmp_path / "a.parquet")))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"has no \.parquet or \.arrow files"):
        list(read_pairs(CorpusConfig(parquet=tmp_path / "empty")))
    monkeypatch.setattr("maskpredict.corpus.parquet.find_spec", lambda module: None)
    with pytest.raises(UserError, match="needs pyarrow: pip install pyarrow"):
        list(read_pairs(CorpusConfig(parquet=tmp_path / "a.parquet")))


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_a_line_that_would_fill_the_memory_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(compress(b"fine\n" + bytes(60_000_000), suffix))
    tracemalloc.start()
    with pytest.raises(UserError, match=r"Line 2 of .* is longer than 1,000,000 bytes"):
        list(read_pairs(CorpusConfig(source=path, target=path)))
    largest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert largest < 50_000_000
