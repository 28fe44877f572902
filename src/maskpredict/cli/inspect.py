"""`maskpredict inspect`: what a folder holds, and whether it is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DAMAGED = 1


def inspect(
    folder: Annotated[
        Path, typer.Argument(help="Model, run, data, exported or foreign folder, or name of a shipped model.")
    ],
) -> None:
    """Say what a folder holds, and check it; exit code 1 means that something is wrong with it."""
    from rich.console import Console

    from maskpredict.convert.inspection import inspect_checkpoint
    from maskpredict.export.inspection import inspect_export
    from maskpredict.runtime.inspection import inspect_folder, render

    found = inspect_export(folder) or inspect_checkpoint(folder) or inspect_folder(folder)
    Console().print(render(found))
    for problem in found.problems:
        typer.echo(f"problem: {problem}", err=True)
    if found.problems:
        raise typer.Exit(DAMAGED)
