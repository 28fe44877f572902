"""A small data folder for verbs that learn from one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig
from maskpredict.corpus.vocabulary import VocabularyConfig


@pytest.fixture
def data_folder(tmp_path: Path, sentences: list[str], expected: Callable[[str], str]) -> Path:
    """Eighty pairs, which are also the validation split; their text is `text.tsv` beside the folder."""
    text = tmp_path / "text.tsv"
    text.write_text("".join(f"{line}\t{expected(line)}\n" for line in sentences))
    corpora = (CorpusConfig(tsv=text),)
    prepare(PrepareConfig("xx", "yy", tmp_path / "data", corpora, corpora, vocabulary=VocabularyConfig(size=80)))
    return tmp_path / "data"
