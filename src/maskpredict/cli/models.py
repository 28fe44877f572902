"""`maskpredict models`: list the models on this machine."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

_WIDTH = 120


def models(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders whose model and run folders to list, too; by default the current one."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the models on this machine, with languages, system, size and the scores of their cards."""
    from rich.console import Console

    from maskpredict.runtime.known_models import known_models, render

    listed = known_models(folders or [Path()])
    if as_json:
        typer.echo(json.dumps([asdict(model) for model in listed], ensure_ascii=False, indent=2, default=str))
        return
    console = Console()
    (console if console.is_terminal else Console(width=_WIDTH)).print(render(listed))
    for model in listed:
        if model.problem:
            typer.echo(f"problem: {model.problem}", err=True)
