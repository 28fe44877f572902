"""`translate -o FILE` goes on from what a killed run left, and only from that."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from maskpredict.cli import app
from tests.cli.test_filters import ENVIRONMENT

LINES = [f"luri {word} {number}." for number in range(140) for word in ("kone", "bane", "tisa", "fumo")]
TEXT = "".join(f"{line}\n" for line in LINES)
Translate = Callable[..., Result]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "in").write_text(TEXT)
    return tmp_path / "in"


@pytest.fixture
def translate(cmlm_folder: Path, text: Path) -> Translate:
    """Translates the text into the file `out` beside it."""

    def run(*options: str) -> Result:
        arguments = ["translate", "-m", str(cmlm_folder), str(text), "-o", str(text.with_name("out")), *options]
        return CliRunner().invoke(app, arguments, catch_exceptions=False)

    return run


@pytest.fixture(scope="module")
def after_a_kill(cmlm_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What a run of the same command left that was killed in the middle."""
    folder = tmp_path_factory.mktemp("killed")
    (folder / "in").write_text(TEXT)
    left = folder / "out.unfinished"
    command = [sys.executable, "-m", "maskpredict.cli", "translate", "-m", str(cmlm_folder), "in", "-o", "out"]
    process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.DEVNULL, cwd=folder)
    deadline = time.monotonic() + 300
    while process.poll() is None and not (left.exists() and left.read_bytes().count(b"\n") > 20):
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert [path.name for path in sorted(folder.iterdir())] == ["in", "out.unfinished"]
    return left.read_bytes()


@pytest.fixture
def unfinished(after_a_kill: bytes, text: Path) -> Path:
    """The same beside the text of this test."""
    text.with_name("out.unfinished").write_bytes(after_a_kill)
    return text.with_name("out.unfinished")


def test_the_same_command_goes_on_after_a_kill(unfinished: Path, translate: Translate) -> None:
    first, *kept = unfinished.read_text().splitlines()
    whole = [line for line in kept if line.endswith("]")]
    assert 20 <= len(whole) < len(LINES)
    digest, _ = json.loads(whole[0])
    unfinished.write_text("\n".join([first, json.dumps([digest, "made by the first run"]), *kept[1:]]) + '\n["torn')
    done = translate()
    assert done.exit_code == 0, done.stderr
    out = unfinished.with_name("out").read_text().splitlines()
    assert out[0] == "made by the first run"
    assert not unfinished.exists()
    assert translate().exit_code == 0
    assert unfinished.with_name("out").read_text().splitlines()[1:] == out[1:]
    assert len(out) == len(LINES)


@pytest.mark.parametrize("options", [["--iterations", "1"], ["--format", "jsonl"], ["--raw"]])
def test_other_settings_are_refused_and_nothing_is_lost(
    unfinished: Path, translate: Translate, options: list[str]
) -> None:
    before = unfinished.read_bytes()
    done = translate(*options)
    assert done.exit_code == 2
    assert "was left by a run with another setting; repeat that command to go on from it, or delete it." in done.stderr
    assert unfinished.read_bytes() == before


def test_another_text_is_refused_and_nothing_is_lost(unfinished: Path, translate: Translate, text: Path) -> None:
    text.write_text(TEXT.replace(LINES[3], "other"))
    before = unfinished.read_bytes().rpartition(b"\n")[0]
    done = translate()
    assert done.exit_code == 2
    assert "was left by a run over another text, which differs in line 4; " in done.stderr
    assert unfinished.read_bytes().startswith(before)


def test_a_file_of_somebody_else_is_no_unfinished_output(translate: Translate, text: Path) -> None:
    text.with_name("out.unfinished").write_text("my notes\n")
    done = translate()
    assert done.exit_code == 2
    assert "out.unfinished is not what an earlier run left; move it away." in done.stderr
    assert text.with_name("out.unfinished").read_text() == "my notes\n"
