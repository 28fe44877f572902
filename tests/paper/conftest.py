"""A data folder of the toy language with the vocabulary of the toy models, and studies on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig
from maskpredict.corpus.vocabulary import VocabularyConfig
from maskpredict.paper.models import Competitors
from maskpredict.paper.study import Study

MakeStudy = Callable[..., Study]


@pytest.fixture(scope="session")
def make_data(
    cmlm_folder: Path, expected: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Path]:
    """Makes a data folder whose only split, test, has these sentences and their right translations."""

    def make(sentences: list[str], languages: tuple[str, str] = ("xx", "yy")) -> Path:
        folder = tmp_path_factory.mktemp("data")
        for name, lines in (("source", sentences), ("target", [expected(line) for line in sentences])):
            (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        test = CorpusConfig(name="test", source=folder / "source", target=folder / "target")
        vocabulary = VocabularyConfig(reuse=cmlm_folder)
        prepare(PrepareConfig(*languages, folder / "data", test=(test,), vocabulary=vocabulary))
        return folder / "data"

    return make


@pytest.fixture(scope="session")
def data(make_data: Callable[..., Path], sentences: list[str]) -> Path:
    """Twenty-four sentences, short and long."""
    return make_data(sentences[:8] + sentences[40:56])


@pytest.fixture
def make_study(cmlm_folder: Path, data: Path, tmp_path: Path) -> MakeStudy:
    """A study of the toy model; models by role, and further fields of `Study`."""

    def make(models: dict[str, Path] | None = None, **fields: Any) -> Study:
        competitors = Competitors({"model": cmlm_folder, **(models or {})}, device="cpu")
        given: dict[str, Any] = {"data": data, "split": "test", "out": tmp_path / "out", "texts": tmp_path / "texts"}
        return Study(competitors, **{**given, **fields})

    return make
