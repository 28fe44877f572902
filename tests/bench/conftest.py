"""A test set of the toy language to race on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from maskpredict.evaluate.reference_set import ReferenceSet, set_from_files


@pytest.fixture(scope="session")
def toy_files(sentences: list[str], expected: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with test.xx and test.yy: sentences that the toy models were not trained on."""
    folder = tmp_path_factory.mktemp("raced")
    (folder / "test.xx").write_text("".join(f"{sentence}\n" for sentence in sentences))
    (folder / "test.yy").write_text("".join(f"{expected(sentence)}\n" for sentence in sentences))
    return folder


@pytest.fixture(scope="session")
def toy_set(toy_files: Path) -> ReferenceSet:
    """The same, opened."""
    return set_from_files([toy_files / "test.yy"], toy_files / "test.xx")
