"""Virtual environments without PyTorch, made the way an operator makes them: from a wheel of this tree."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import MakeOnce

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Installation:
    """Python with maskpredict, and a folder to run it in that is not the repository."""

    python: Path
    folder: Path
    environment: dict[str, str]

    def run(self, *arguments: str, input: str = "") -> subprocess.CompletedProcess[str]:
        """Run `python ARGUMENTS`."""
        command = [str(self.python), *arguments]
        return subprocess.run(
            command, input=input, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=300
        )

    def maskpredict(self, *arguments: str, input: str = "") -> str:
        """Standard output of `maskpredict ARGUMENTS`, which must succeed."""
        done = self.run("-m", "maskpredict.cli", *arguments, input=input)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def runtime(make_once: MakeOnce, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The package alone: `pip install maskpredict`."""
    return _installation(make_once("runtime", _install), tmp_path_factory.mktemp("runtime"))


@pytest.fixture(scope="session")
def runtime_and_serve(make_once: MakeOnce, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The package with one extra: `pip install 'maskpredict[serve]'`."""
    environment = make_once("runtime-and-serve", partial(_install, extras=["serve"]))
    return _installation(environment, tmp_path_factory.mktemp("serve"))


@pytest.fixture(scope="session")
def with_pytorch(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The environment of these tests, which has every extra."""
    return Installation(Path(sys.executable), tmp_path_factory.mktemp("with_pytorch"), dict(os.environ))


def _install(environment: Path, extras: Sequence[str] = ()) -> None:
    command = [str(ROOT / "deploy" / "install.sh"), str(environment), ",".join(extras)]
    subprocess.run(command, env={**_clean_environment(), "PYTHON": sys.executable}, check=True)


def _installation(environment: Path, folder: Path) -> Installation:
    return Installation(environment / "bin" / "python", folder, _clean_environment())


def _clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
