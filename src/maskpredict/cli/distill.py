"""`maskpredict distill`: replace the training targets by the translations of a teacher."""

from __future__ import annotations

import typer

from maskpredict.cli.options import Config, Overrides, config_path
from maskpredict.extras import require


def distill(config: Config, overrides: Overrides = None) -> None:
    """Replace the training targets by the translations of a teacher, or continue doing so."""
    require("train", "`maskpredict distill`", ["torch", "sacrebleu"])
    from maskpredict.config import load_config
    from maskpredict.distill import DistillConfig
    from maskpredict.distill import distill as run
    from maskpredict.training.distributed import is_main_process

    report = run(load_config(DistillConfig, config_path(config), overrides or ()))
    if not is_main_process():
        return
    if report.counts is not None:
        typer.echo(f"{report.counts.pairs:,} distilled pairs; the data folder is {report.out}.", err=True)
    else:
        typer.echo(f"{report.shards_done} of {report.shards} shards are done; the same command continues.", err=True)
