"""constraints.txt fits what the package registry offers, for each extra and each supported Python.

uv resolves from the registry's metadata, and downloads no packages. It does not look into folders of wheels that pip
may be set up with: a wheel of PyTorch for CPUs alone needs less than the registry's does, and would hide a conflict.
"""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest
from uv import find_uv_bin

ROOT = Path(__file__).parents[2]
EVERYTHING = "dev"
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"].keys()
PINNED = {line.partition(" ;")[0] for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()}


def resolve(python: str, cache: Path, extra: str | None, *options: str) -> set[str]:
    """Every `name==version` that pip would install on Linux."""
    target = f"--python-version {python} --python-platform x86_64-manylinux_2_28 --only-binary :all:".split()
    plain = ["--quiet", "--no-header", "--no-annotate", "--cache-dir", str(cache)]
    choice = ["--extra", extra] if extra else []
    command = [find_uv_bin(), "pip", "compile", "pyproject.toml", "--constraint", "constraints.txt"]
    command += [*target, *plain, *choice, *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{extra or 'the package alone'} on Python {python}: {done.stderr}"
    return set(done.stdout.splitlines())


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The registry's answers, which are mostly the same for each Python."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_every_extra_resolves_to_pinned_versions(python: str, cache: Path) -> None:
    largest = resolve(python, cache, EVERYTHING)
    assert {"torch", "triton"} <= {line.partition("==")[0] for line in largest}
    assert largest <= PINNED
    for extra in (None, *sorted(EXTRAS - {EVERYTHING})):
        # The metadata of all of these is there now; asking the registry for it again would take most of the time.
        assert resolve(python, cache, extra, "--offline") <= largest, extra


def test_constraints_name_no_package_index() -> None:
    assert not [line for line in PINNED if line.startswith("--") or "://" in line]
