"""`maskpredict demo`: what the project does, shown in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    folder: Annotated[Path, typer.Argument(help="Where the demo keeps its model.")] = Path(".maskpredict-demo"),
) -> None:
    """Train a toy model in a minute or two, once, and play its iterations."""
    from maskpredict.demo import demo as run

    run(folder)
