"""`maskpredict train`: a data folder in, a run folder with a model out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from maskpredict.cli.options import Config, Overrides, config_path
from maskpredict.extras import require

if TYPE_CHECKING:
    from maskpredict.training.loop import TrainResult


def train(
    config: Config,
    overrides: Overrides = None,
    stop_after: Annotated[
        float | None, typer.Option(help="Stop with a checkpoint after this many seconds; the same command continues.")
    ] = None,
) -> None:
    """Train a model, or resume an interrupted run."""
    require("train", "`maskpredict train`", ["torch", "tensorboard", "sacrebleu"])
    from maskpredict.config import load_config
    from maskpredict.training.config import TrainConfig
    from maskpredict.training.distributed import is_main_process
    from maskpredict.training.loop import train as run

    settings = load_config(TrainConfig, config_path(config), overrides or ())
    result = run(settings, stop_after=stop_after)
    if is_main_process():
        typer.echo(_closing_line(result, settings.run), err=True)
    if result.signal is not None:
        raise typer.Exit(128 + result.signal)  # as a shell reports it, so that `train && distill` stops here


def _closing_line(result: TrainResult, run: str) -> str:
    if result.model is not None:
        return f"{result.updates:,} updates; the model is {result.model}."
    return f"Stopped after {result.updates:,} updates, which are saved in {run}; the same command continues."
