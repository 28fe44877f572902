"""Whatever stands in a file, reading it ends soon, with a result or with one sentence, and touches nothing else.

`make torture` tries many more inputs, guided by what code they reach (`fuzz_readers.py`).
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.damage import damaged
from tests.fuzz.guard import Escape, Slow, check, check_sentence
from tests.fuzz.readers import NAMES, Reader, make_readers

EXAMPLES = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def readers(folder: Path) -> dict[str, Reader]:
    return {reader.name: reader for reader in make_readers(folder)}


@pytest.mark.parametrize("name", NAMES)
def test_undamaged_input_is_read(readers: dict[str, Reader], folder: Path, name: str) -> None:
    for seed in readers[name].seeds:
        assert check(readers[name].read, seed, folder) is None


@pytest.mark.parametrize("name", NAMES)
def test_damaged_input_is_read_or_refused_in_one_sentence(readers: dict[str, Reader], folder: Path, name: str) -> None:
    reader = readers[name]

    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(damaged(reader.seeds) | st.binary(max_size=200))
    def holds(content: bytes) -> None:
        check_sentence(reader.read, content, folder)

    holds()


@pytest.mark.parametrize(
    "act",
    [
        lambda: os.system("true"),
        lambda: subprocess.run(["true"]),
        lambda: Path("/etc/passwd").read_text(),
        lambda: Path("/tmp/maskpredict-was-here").write_text("x"),
    ],
)
def test_the_guard_notices_programs_and_files_elsewhere(act: object, tmp_path: Path) -> None:
    with pytest.raises(Escape):
        check(lambda _: act(), b"", tmp_path)  # type: ignore[operator]


def test_the_guard_notices_what_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.guard.SECONDS", 0.05)
    with pytest.raises(Slow):
        check(lambda _: sum(range(10**7)), b"", tmp_path)
