"""What `maskpredict prepare` takes as a corpus on the command line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import CliRunner, Result

from maskpredict.cli import app
from maskpredict.corpus.dataset import Dataset

LINES = [f"Satz {number} von vielen" for number in range(40)]


def prepare(out: Path, *arguments: object, text: str | None = None) -> Result:
    options = ["prepare", str(out), "-s", "de", "-t", "en", "--vocab-size", "40", *map(str, arguments)]
    return CliRunner().invoke(app, options, input=text, catch_exceptions=False)


@pytest.mark.parametrize("kind", ["folder", "stdin", "parquet", "jsonl"])
def test_a_corpus_may_be_one_argument(tmp_path: Path, kind: str) -> None:
    pairs = tmp_path / "pairs"
    pairs.mkdir()
    for language in ("de", "en"):
        (pairs / f"news.{language}.gz").write_bytes(gzip.compress("\n".join(LINES).encode()))
    pyarrow.parquet.write_table(pyarrow.table({"source": LINES, "target": LINES}), tmp_path / "news.parquet")
    rows = [json.dumps({"source": line, "target": line}) for line in LINES]
    (tmp_path / "news.jsonl.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    argument = {"folder": pairs, "stdin": "-", "parquet": tmp_path / "news.parquet"}.get(kind)
    argument = argument or tmp_path / "news.jsonl.gz"
    done = prepare(tmp_path / "out", "--train", argument, text="".join(f"{line}\t{line}\n" for line in LINES))
    assert done.exit_code == 0, done.output
    train = Dataset(tmp_path / "out").split("train")
    assert len(train) == len(LINES)
    assert [part.name for part in train.corpora] == [{"stdin": "stdin"}.get(kind, "news")]


def test_a_lonely_file_is_refused(tmp_path: Path) -> None:
    done = prepare(tmp_path / "out", "--train", tmp_path / "a.de")
    assert done.exit_code == 2
    assert "takes two files, sources and targets, or one that ends in .tsv, .jsonl or .parquet" in done.stderr
