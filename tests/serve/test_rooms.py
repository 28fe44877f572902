"""The rooms of the service import each other in one direction, and none of them imports PyTorch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import maskpredict

SERVE = Path(maskpredict.__file__).parent / "serve"
MAY_IMPORT = {"queue": {"queue"}, "http": {"http", "queue"}}
SHARED = {"caller", "config", "logs", "metrics", "tracing"}
"""Modules at the top that every room may import."""


def imported_modules(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} has a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_imports_point_from_http_to_queue(room: str) -> None:
    files = list((SERVE / room).rglob("*.py"))
    assert len(files) > 3
    for file in files:
        names = [name.split(".") for name in imported_modules(file) if name.startswith("maskpredict.serve.")]
        assert {parts[2] for parts in names} <= MAY_IMPORT[room] | SHARED, file


def test_modules_that_every_room_imports_import_no_room() -> None:
    for module in SHARED:
        names = [name.split(".") for name in imported_modules(SERVE / f"{module}.py")]
        assert {parts[2] for parts in names if parts[:2] == ["maskpredict", "serve"]} <= SHARED, module


def test_no_module_of_the_service_imports_pytorch() -> None:
    for file in SERVE.rglob("*.py"):
        assert "torch" not in {name.partition(".")[0] for name in imported_modules(file)}, file
