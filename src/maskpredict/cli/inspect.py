"""`maskpredict inspect`: describe a folder and check it."""

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
    """Describe a folder and check it; exit code 1 means that it has problems."""
    from rich.console import Console

    from maskpredict.convert import recognition as foreign
    from maskpredict.export import recognition as exported
    from maskpredict.runtime.inspection import inspect_folder, render

    inspection = exported.recognise(folder) or foreign.recognise(folder) or inspect_folder(folder)
    Console().print(render(inspection))
    for problem in inspection.problems:
        typer.echo(f"problem: {problem}", err=True)
    if inspection.problems:
        raise typer.Exit(DAMAGED)
