"""`maskpredict import`: converts models of other toolkits to model folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maskpredict.extras import require


def import_(
    format: Annotated[
        str,
        typer.Argument(help="mask-predict-release, fairseq-cmlm or fairseq-transformer.", show_default=False),
    ],
    folder: Annotated[Path, typer.Argument(help="Folder with checkpoint and dictionaries.", show_default=False)],
    out: Annotated[Path, typer.Argument(help="New model folder.", show_default=False)],
    bpe_codes: Annotated[
        Path | None,
        typer.Option(help="Codes file of subword-nmt; without it, input must already be split into subwords."),
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace an earlier model folder.")] = False,
) -> None:
    """Convert a checkpoint of another toolkit to a model folder."""
    require("train", "`maskpredict import`", ["torch"])
    from maskpredict.convert.importing import import_model

    contents = import_model(format, folder, out, bpe_codes=bpe_codes, overwrite=overwrite)
    pair = f"{contents.languages.source} to {contents.languages.target}"
    typer.echo(f"{out} translates {pair}, a {contents.system} model.", err=True)
