"""Teachers from outside, made once: folders of transformers, and what CTranslate2 makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ctranslate2.converters import TransformersConverter

from tests.distill import tiny_teachers

if TYPE_CHECKING:
    from tests.conftest import MakeOnce


@dataclass(frozen=True)
class Family:
    """How to make a model of a family, and what a user has to say about its languages."""

    make: Callable[[Path], Path]
    sentencepiece: tuple[str, ...]
    settings: dict[str, str] = field(default_factory=dict)


BOTH_SIDES = ("source.spm", "target.spm")
FAMILIES = {
    "marian": Family(tiny_teachers.marian, BOTH_SIDES),
    "marian-multilingual": Family(
        lambda folder: tiny_teachers.marian(folder, codes=[">>deu<<", ">>eng<<"]), BOTH_SIDES, {"target_code": "eng"}
    ),
    "m2m100": Family(tiny_teachers.m2m100, ("sentencepiece.bpe.model",)),
    "nllb": Family(
        tiny_teachers.nllb,
        ("sentencepiece.bpe.model",),
        {"source_code": "deu_Latn", "target_code": "eng_Latn"},
    ),
    "mbart50": Family(tiny_teachers.mbart50, ("sentencepiece.bpe.model",)),
    "t5": Family(tiny_teachers.t5, ("spiece.model",), {"prefix": "bane kosa: "}),
    "madlad": Family(lambda folder: tiny_teachers.t5(folder, codes=["<2de>", "<2en>"]), ("spiece.model",)),
}


@dataclass(frozen=True)
class TeacherFolders:
    """One model in both formats."""

    transformers: Path
    ctranslate2: Path


@pytest.fixture(scope="session")
def teacher_folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], TeacherFolders]:
    """Makes the model of a family with random weights, or finds it."""
    root = tmp_path_factory.mktemp("teachers")

    def folders(name: str) -> TeacherFolders:
        made = TeacherFolders(root / name, root / f"{name}-ctranslate2")
        if not made.ctranslate2.exists():
            family = FAMILIES[name]
            convert(family.make(made.transformers), made.ctranslate2, family.sentencepiece)
        return made

    return folders


@pytest.fixture(scope="session")
def marian_teacher(make_once: MakeOnce) -> TeacherFolders:
    """A MarianMT model that has learned the toy language."""
    return trained_marian(make_once)


def trained_marian(make_once: MakeOnce) -> TeacherFolders:
    """The same, for other folders of tests."""

    def make(root: Path) -> None:
        folder = tiny_teachers.marian(root / "opus-mt", steps=400)
        convert(folder, root / "opus-mt-ctranslate2", BOTH_SIDES)

    root = make_once("marian", make)
    return TeacherFolders(root / "opus-mt", root / "opus-mt-ctranslate2")


def convert(folder: Path, out: Path, files: tuple[str, ...]) -> Path:
    """What `ct2-transformers-converter --copy_files` makes of a folder."""
    return Path(TransformersConverter(str(folder), copy_files=list(files)).convert(str(out)))
