"""`maskpredict average`: average checkpoints or models into a model folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maskpredict.extras import require


def average(
    sources: Annotated[
        list[Path], typer.Argument(help="Run folder, folder of checkpoints, checkpoints or models.", show_default=False)
    ],
    out: Annotated[Path, typer.Argument(help="Model folder to make.", show_default=False)],
    overwrite: Annotated[bool, typer.Option(help="Replace an earlier model folder.")] = False,
) -> None:
    """Average the weights of checkpoints or models."""
    require("train", "`maskpredict average`", ["torch"])
    from maskpredict.training.average import average as run

    report = run(sources, out, overwrite=overwrite)
    typer.echo(f"{report.out} is the mean of {', '.join(path.name for path in report.averaged)}.", err=True)
