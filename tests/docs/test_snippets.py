"""Every shell, Python and YAML block of README.md, CONTRIBUTING.md and docs/ runs, page by page, top to bottom.

A page can say three things to this test, in comments that its readers do not see:

    <!-- starts with: toy -->           folders it needs; they are made here, with models too small to be any good
    <!-- what it prints -->             the next block is what the one before it writes to standard output
    <!-- the test adds: steps=20 -->    to each `maskpredict train`, `reproduce` and `demo --toy FOLDER` of the next
                                        block, so that it ends in a second

A YAML block names its file in its first line, as in `# mine.yaml`, and later blocks use that file. `make` lines are
only checked to name a target: they would set up everything and run this very test. Blocks that do not run are `text`.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from rich.console import Console

import maskpredict
from maskpredict.config import load_config
from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.toy import write_toy_corpus
from maskpredict.decoding.strategies import STRATEGIES
from maskpredict.distill import DistillConfig, distill
from maskpredict.toy_demo import toy_demo
from maskpredict.training.config import TrainConfig
from maskpredict.training.loop import train

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
RECIPES = Path(maskpredict.__file__).parent / "recipes"
LANGUAGES = {"sh", "python", "yaml", "text"}
SECONDS_A_BLOCK = 180

_FENCE = re.compile(r"^```(\w*)$")
_STARTS_WITH = re.compile(r"^<!-- starts with: (.+) -->$", re.MULTILINE)
_PRINTS = "<!-- what it prints -->"
_ADDS = re.compile(r"^<!-- the test adds: (.+) -->$")
_TRAINS = re.compile(r"^(?:maskpredict|torchrun .*) (?:train|reproduce|demo --toy) [^|#\n]*[^|#\s]", re.MULTILINE)
_YAML_NAME = re.compile(r"# ([\w-]+\.yaml)\b")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    place: str
    """Page and line, for messages."""
    language: str
    text: str
    is_printed: bool
    """True when the page says that the block before it prints this."""


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, with what the page lets the test add."""
    first, language, added, is_printed, inside = 0, "", "", False, False
    lines: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if inside and line != "```":
            lines.append(line)
        elif inside:
            text = _TRAINS.sub(rf"\g<0> {added}", "\n".join(lines)) if added else "\n".join(lines)
            yield Block(f"{page.name}:{first}", language, text, is_printed)
            inside, added, is_printed, lines = False, "", False, []
        elif fence:
            inside, first, language = True, number, fence[1]
        elif line == _PRINTS:
            is_printed = True
        elif adds := _ADDS.match(line):
            added = adds[1]
    assert not inside, f"{page.name}:{first} is never closed"


def run_page(page: Path, folder: Path, environment: dict[str, str]) -> None:
    """Run all blocks of a page in a folder; the current folder must be that one too."""
    names: dict[str, Any] = {"__name__": "__main__"}  # a module that exists, where dataclasses look for their types
    printed = ""
    for block in blocks(page):
        if block.is_printed:
            assert printed.rstrip("\n") == block.text, f"{block.place} is not what is printed"
        elif block.language == "sh":
            printed = _run_shell(block, folder, environment)
        elif block.language == "python":
            with redirect_stdout(io.StringIO()) as written:
                exec(compile(block.text, block.place, "exec"), names)
            printed = written.getvalue()
        elif block.language == "yaml":
            named = _YAML_NAME.match(block.text)
            assert named, f"{block.place} does not begin with the name of its file"
            (folder / named[1]).write_text(block.text, encoding="utf-8")


def _run_shell(block: Block, folder: Path, environment: dict[str, str]) -> str:
    """Run the commands; return their standard output."""
    lines = block.text.splitlines()
    for line in (line for line in lines if line.startswith("make ")):
        assert line.split()[1] in make_targets(), f"{block.place}: there is no such target as in `{line}`"
    script = "\n".join(line for line in lines if not line.startswith("make "))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS_A_BLOCK,
    )
    assert done.returncode == 0, f"{block.place} ends with {done.returncode}:\n{done.stderr}"
    return done.stdout


def make_targets() -> set[str]:
    """Targets of the Makefile."""
    return set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A shell in which `maskpredict` and `python` are those under test."""
    programs = tmp_path_factory.mktemp("programs")
    for name, arguments in (("maskpredict", "-m maskpredict.cli"), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        program.chmod(0o755)
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "100",
    }


@pytest.fixture(scope="session")
def made_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders that readers of a page have from earlier pages: those of the toy language and of the toy demo."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)  # the recipes' paths are relative
        write_toy_corpus(Path("toy/corpus"), train_pairs=250, valid_pairs=20, test_pairs=20, seed=1)
        prepare(load_config(PrepareConfig, RECIPES / "toy-data.yaml"))
        train(load_config(TrainConfig, RECIPES / "toy-teacher.yaml", ["steps=40"]), quiet=True)
        distill(load_config(DistillConfig, RECIPES / "toy-distill.yaml", ["beam_size=2"]), quiet=True)
        student = ["data=toy/distilled", "run=toy/cmlm-distilled", "steps=40"]
        train(load_config(TrainConfig, RECIPES / "toy-cmlm.yaml", student), quiet=True)
        demo = Path(".maskpredict-demo")
        toy_demo(demo, console=Console(quiet=True), train_pairs=250, test_pairs=20, overrides=("steps=40",))
        Path("released-en-de").mkdir()
        for path in (ROOT.parent / "shared" / "fixtures" / "original-tiny").iterdir():
            shutil.copyfile(path, Path("released-en-de") / path.name)
        Path("released-en-de/codes").write_text("#version: 0.2\ne n</w>\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_block_of_the_page_runs(
    page: Path, made_before: Path, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for named in _STARTS_WITH.findall(page.read_text(encoding="utf-8")):
        for name in named.split():
            shutil.copytree(made_before / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    with patch.dict(STRATEGIES):  # a page may show how to add one
        run_page(page, tmp_path, environment)


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_block_says_what_it_is(page: Path) -> None:
    assert [block.place for block in blocks(page) if block.language not in LANGUAGES] == []


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_file_that_a_page_shows_is_used_by_a_later_command(page: Path) -> None:
    shown: set[str] = set()
    for block in blocks(page):
        if block.language == "yaml" and (named := _YAML_NAME.match(block.text)):
            shown.add(named[1])
        elif block.language in ("sh", "python"):
            shown -= {name for name in shown if name in block.text}
    assert shown == set()


@pytest.mark.parametrize(
    "block",
    [
        "```sh\nmaskpredict translat\n```",
        "```sh\nfalse | true\n```",
        "```python\nassert 1 > 2\n```",
        "```python\nprint(1)\n```\n\n<!-- what it prints -->\n\n```text\n2\n```",
        "```sh\necho 1\n```\n\n<!-- what it prints -->\n\n```text\n2\n```",
        "```yaml\na: 1\n```",
        "```sh\nmake coffee\n```",
        "```sh\ntrue",
    ],
    ids=[
        "a misspelt verb",
        "half a pipe",
        "Python",
        "Python that prints",
        "a shell that prints",
        "YAML without a name",
        "no target",
        "no end",
    ],
)
def test_a_block_that_fails_is_noticed(block: str, environment: dict[str, str], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n{block}\n")
    with pytest.raises(AssertionError):
        run_page(page, tmp_path, environment)


def test_what_the_test_adds_goes_to_training_commands_of_the_next_block_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    commands = (
        "maskpredict train a.yaml | cat\nmaskpredict train b  # c\nmaskpredict demo --toy d\nmaskpredict inspect d"
    )
    page.write_text(f"<!-- the test adds: steps=3 -->\n```sh\n{commands}\n```\n\n```sh\nmaskpredict train e\n```\n")
    assert [block.text for block in blocks(page)] == [
        "maskpredict train a.yaml steps=3 | cat\nmaskpredict train b steps=3  # c\n"
        "maskpredict demo --toy d steps=3\nmaskpredict inspect d",
        "maskpredict train e",
    ]
