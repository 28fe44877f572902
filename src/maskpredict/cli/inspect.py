"""`maskpredict inspect`: describe a folder and check it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from maskpredict.extras import require

if TYPE_CHECKING:
    from maskpredict.runtime.inspection import Inspection

DAMAGED = 1


def inspect(
    folder: Annotated[
        Path, typer.Argument(help="Model, run, data, exported or foreign folder, or name of a shipped model.")
    ],
) -> None:
    """Describe a folder and check it; exit code 1 means that it has problems."""
    from rich.console import Console

    from maskpredict.runtime.inspection import inspect_folder, render

    inspection = _inspect_foreign(folder) or inspect_folder(folder)
    Console().print(render(inspection))
    for problem in inspection.problems:
        typer.echo(f"problem: {problem}", err=True)
    if inspection.problems:
        raise typer.Exit(DAMAGED)


def _inspect_foreign(folder: Path) -> Inspection | None:
    """Inspect an exported or foreign folder, which needs PyTorch; return None for our own folders, which do not."""
    if not (folder / "export.json").is_file() and not any(folder.glob("*.pt")):
        return None
    require("export", "`maskpredict inspect` of an exported or foreign folder", ["torch"])
    from maskpredict.convert.inspection import inspect_checkpoint
    from maskpredict.export.inspection import inspect_export

    return inspect_export(folder) or inspect_checkpoint(folder)
