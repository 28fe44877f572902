"""`maskpredict demo`: translations of shipped models, played pass by pass in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maskpredict.errors import UserError
from maskpredict.extras import require

_TOY_FOLDER = Path(".maskpredict-demo")


def demo(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder of the toy model.", show_default=str(_TOY_FOLDER))
    ] = None,
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Values that replace those of the toy recipe.")
    ] = None,
    toy: Annotated[
        bool, typer.Option("--toy", help="Train a model of an invented language instead, in a minute or two.")
    ] = False,
) -> None:
    """Translate German and English sentences with the shipped models and play the iterations."""
    if toy:
        require("train", "`maskpredict demo --toy`", ["torch", "tensorboard", "sacrebleu"])
        from maskpredict.toy_demo import toy_demo

        toy_demo(folder or _TOY_FOLDER, overrides=tuple(overrides or ()))
    elif folder is not None:
        raise UserError(f"only the toy demo keeps a folder; write: maskpredict demo --toy {folder}.")
    else:
        from maskpredict.demo import demo as run

        run()
