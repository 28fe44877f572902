"""`maskpredict export`: writes a model for another runtime."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from maskpredict.extras import require


class ExportFormat(StrEnum):
    """Export formats, with the names of `maskpredict.export.EXPORTS`."""

    ctranslate2 = "ctranslate2"
    onnx = "onnx"
    transformers = "transformers"
    browser = "browser"


def export(
    form: Annotated[ExportFormat, typer.Argument(metavar="FORMAT", help="ctranslate2, onnx, transformers or browser.")],
    model: Annotated[str, typer.Argument(help="Model folder, run folder, or name of a shipped model.")],
    out: Annotated[Path, typer.Argument(help="New folder.", show_default=False)],
    precision: Annotated[
        str | None,
        typer.Option(
            help="float32, or int8 (ctranslate2, onnx, browser), float16 or bfloat16 (ctranslate2, transformers).",
            show_default="int8 for browser, else float32",
        ),
    ] = None,
    runtime: Annotated[
        Path | None,
        typer.Option(
            help="For browser: the npm package onnxruntime-web, from `npm pack` or unpacked.",
            show_default="downloaded by npm",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace an earlier export.")] = False,
) -> None:
    """Write a model as a folder for another runtime."""
    require("export", "`maskpredict export`", ["torch"])
    from maskpredict.errors import UserError
    from maskpredict.export import EXPORTS

    options: dict[str, Any] = {"precision": precision, "runtime": runtime}
    if runtime is not None and form is not ExportFormat.browser:
        raise UserError("--runtime is only for browser exports; leave it out.")
    given = {name: value for name, value in options.items() if value is not None}
    exported = EXPORTS[form](model, out, overwrite=overwrite, **given)
    size = sum(exported.files.values()) / 1e6
    typer.echo(f"{exported.folder} has {', '.join(exported.files)} ({size:.1f} MB).", err=True)
