"""The house stands on its lower floors: nothing lower imports anything higher, and imports stay light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import maskpredict
from maskpredict.systems import SYSTEMS

PACKAGE = Path(maskpredict.__file__).parent

# From the ground up. A module may import its own part and those on earlier lines, but not its neighbours on
# the same line: they stand side by side. A new part of the package needs a place here.
LAYERS = [
    ["errors"],
    [
        "bounds",
        "cpu",
        "disk_errors",
        "durability",
        "extras",
        "languages",
        "memory",
        "progress",
        "yaml_dialect",
    ],
    ["json_file", "new_file", "new_folder"],
    ["checksums"],
    ["config", "packing", "special_ids", "bpe"],
    ["dictionary"],
    ["tokenizer"],
    ["corpus", "kernels"],
    ["model"],
    ["decoding"],
    ["systems"],
    ["engines"],
    ["training", "runtime", "player"],
    ["distill", "documents"],
    ["evaluate"],
    ["bench", "convert", "export", "serve"],
    ["paper"],
    ["demo", "toy_demo", "reproduce"],
    ["cli"],
]
FLOOR = {part: floor for floor, parts in enumerate(LAYERS) for part in parts}


def violations(package: Path) -> list[str]:
    """A sentence for each import below `package` that points upwards or sideways."""
    sentences = []
    for file in sorted(package.rglob("*.py")):
        part = file.relative_to(package).parts[0].removesuffix(".py")
        if part == "__init__":  # the package's front door, which loads the public names on first use
            continue
        if part not in FLOOR:
            sentences.append(f"{file.relative_to(package)} has no place in LAYERS; add {part!r} to it")
            continue
        for imported in sorted(parts_imported_by(file, package)):
            if imported != part and FLOOR.get(imported, len(LAYERS)) >= FLOOR[part]:
                sentences.append(f"{file.relative_to(package)} must not import {package.name}.{imported}")
    return sentences


def parts_imported_by(file: Path, package: Path) -> set[str]:
    """First names below the package of all that `file` imports, at its top or inside functions."""
    home = [package.name, *file.relative_to(package).parent.parts]
    parts = set()
    for dotted in imported_names(ast.parse(file.read_text(encoding="utf-8")), home):
        top, _, below = dotted.partition(".")
        if top == package.name and below not in ("", "__version__"):
            parts.add(below.partition(".")[0])
    return parts


def imported_names(tree: ast.Module, home: list[str]) -> Iterator[str]:
    """Absolute dotted names of everything imported by a module that lies in the package `home`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = home[: len(home) - node.level + 1] if node.level else []
            base = [*above, *([node.module] if node.module else [])]
            yield from (".".join([*base, alias.name]) for alias in node.names)


def test_nothing_lower_imports_anything_higher() -> None:
    assert violations(PACKAGE) == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("systems/cmlm.py", "from maskpredict.training.loop import train"),
        ("systems/cmlm.py", "from ..training import loop"),
        ("systems/cmlm.py", "def late():\n    import maskpredict.training.loop as loop"),
        ("training/loop.py", "from maskpredict import runtime"),
        ("errors.py", "from . import config"),
        ("corpus/prepare.py", "from maskpredict import Translator"),
    ],
)
def test_an_import_upwards_or_sideways_is_noticed(tmp_path: Path, file: str, line: str) -> None:
    planted = tmp_path / "maskpredict" / file
    planted.parent.mkdir(parents=True)
    planted.write_text(f"import json\nfrom maskpredict import __version__\n{line}\n")
    (sentence,) = violations(tmp_path / "maskpredict")
    assert sentence.startswith(f"{file} must not import maskpredict.")


@pytest.mark.parametrize(
    "line",
    ["from .schedule import rate", "from maskpredict.training import schedule", "from ..systems import x"],
)
def test_an_import_of_the_own_part_or_downwards_is_fine(tmp_path: Path, line: str) -> None:
    planted = tmp_path / "maskpredict" / "training" / "loop.py"
    planted.parent.mkdir(parents=True)
    planted.write_text(line + "\n")
    assert violations(tmp_path / "maskpredict") == []


def test_a_part_without_a_floor_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "attic.py").write_text("")
    assert violations(tmp_path) == ["attic.py has no place in LAYERS; add 'attic' to it"]


@pytest.mark.parametrize(
    "module",
    [
        "maskpredict",
        "maskpredict.config",
        "maskpredict.cli",
        "maskpredict.runtime.translator",
        *sorted({entry.decoder.split(":")[0] for entry in SYSTEMS.values()}),
    ],
)
def test_importing_does_not_load_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch was imported' if 'torch' in sys.modules else 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_reproducing_a_recipe_loads_no_library_for_text_or_service() -> None:
    """Training machines often have little more than PyTorch installed, and no way to install more."""
    unneeded = "{'sentencex', 'snowballstemmer', 'py3langid', 'zstandard', 'fastapi', 'ctranslate2'}"
    modules = "maskpredict.reproduce.run, maskpredict.distill.run, maskpredict.training.loop"
    code = f"import sys, {modules}; sys.exit(' '.join({unneeded} & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_public_names_load_on_first_use() -> None:
    assert {"Translator", "Translation", "UserError"} <= set(dir(maskpredict))
    for name in maskpredict.__all__:
        assert getattr(maskpredict, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Translater'"):
        maskpredict.Translater  # noqa: B018


def test_no_file_is_named_after_nothing_in_particular() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [file for file in PACKAGE.rglob("*") if file.stem in vague] == []
