"""The toy recipe, made so small that all its stages take two seconds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from maskpredict.cli import app

SMALL = [
    "toy.train_pairs=120",
    "toy.valid_pairs=8",
    "toy.test_pairs=8",
    "teacher.steps=5",
    "student.steps=5",
    "distill.shard_pairs=30",
    "distill.beam_size=1",
    "evaluate.teacher=[{beam_size: 1}]",
]


@pytest.fixture(scope="session")
def cli() -> Callable[..., Result]:
    """The command line; exceptions that are not a user's mistake come through."""

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)

    return run


@pytest.fixture(scope="session")
def small(cli: Callable[..., Result]) -> Callable[..., Result]:
    """`maskpredict reproduce toy`, small, with more arguments."""

    def run(*arguments: object) -> Result:
        return cli("reproduce", "toy", *SMALL, *arguments)

    return run


@pytest.fixture(scope="session")
def made(small: Callable[..., Result], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that the small recipe makes; copy it before changing it."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)  # runs remember their data by its path, so copies must be reached by the same one
        result = small("--work", "work")
    assert result.exit_code == 0, result.output
    return folder / "work"


@pytest.fixture
def contents() -> Callable[[Path], dict[str, bytes]]:
    """Every file of a folder."""

    def read(folder: Path) -> dict[str, bytes]:
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    return read
