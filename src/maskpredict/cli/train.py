"""`maskpredict train`: a data folder in, a run folder with a model out."""

from __future__ import annotations

from typing import Annotated

import typer

from maskpredict.cli.options import Config, Overrides, config_path
from maskpredict.extras import require


def train(
    config: Config,
    overrides: Overrides = None,
    stop_after: Annotated[
        float | None, typer.Option(help="Leave after so many seconds; the same command goes on later.")
    ] = None,
) -> None:
    """Train a model, or continue a run that was interrupted."""
    require("train", "`maskpredict train`", ["torch", "tensorboard", "sacrebleu"])
    from maskpredict.config import load_config
    from maskpredict.training.config import TrainConfig
    from maskpredict.training.loop import train as run

    result = run(load_config(TrainConfig, config_path(config), overrides or ()), stop_after=stop_after)
    if result.model is not None:
        typer.echo(f"{result.updates:,} updates; the model is {result.model}.", err=True)
    else:
        typer.echo(f"Stopped after {result.updates:,} updates; the same command continues.", err=True)
