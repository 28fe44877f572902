"""`maskpredict export`: a model as a folder for another runtime."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class ExportFormat(StrEnum):
    """Where a model can go; the names are those of `maskpredict.export.EXPORTS`."""

    ctranslate2 = "ctranslate2"
    onnx = "onnx"
    transformers = "transformers"


def export(
    form: Annotated[ExportFormat, typer.Argument(metavar="FORMAT", help="ctranslate2, onnx or transformers.")],
    model: Annotated[str, typer.Argument(help="Model folder, run folder, or name of a shipped model.")],
    out: Annotated[Path, typer.Argument(help="Folder to make.", show_default=False)],
    precision: Annotated[
        str, typer.Option(help="float32, or int8 (ctranslate2, onnx), float16 or bfloat16 (ctranslate2, transformers).")
    ] = "float32",
    overwrite: Annotated[bool, typer.Option(help="Replace an earlier export.")] = False,
) -> None:
    """Write a model as a folder for another runtime."""
    from maskpredict.export import EXPORTS

    exported = EXPORTS[form](model, out, precision=precision, overwrite=overwrite)
    size = sum(exported.files.values()) / 1e6
    typer.echo(f"{exported.folder} has {', '.join(exported.files)} ({size:.1f} MB).", err=True)
