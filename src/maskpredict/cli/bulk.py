"""`maskpredict bulk`: text of any size translated on any number of machines, a line for each line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maskpredict.cli import options
from maskpredict.cli.distill import distill_texts, report_text
from maskpredict.cli.options import Overrides
from maskpredict.errors import UserError
from maskpredict.extras import require


def bulk(
    out: Annotated[Path, typer.Argument(help="Folder to make.", show_default=False)],
    model: options.Model,
    overrides: Overrides = None,
    text: options.Text = None,
    iterations: options.Iterations = None,
    speed: options.Speed = None,
    shard: options.Shard = None,
    ray: options.Ray = None,
) -> None:
    """Translate large files in pieces that survive interruptions, or continue doing so."""
    require("ray", "`maskpredict bulk`", ["zstandard"])
    from maskpredict.config import load_config
    from maskpredict.distill.by_text import TextDistillConfig
    from maskpredict.model.folder import ModelFolder
    from maskpredict.runtime.find_model import find_model

    if not text:
        raise UserError("name the files to translate: --text FILE, or - for standard input.")
    languages = ModelFolder.read(find_model(model)).languages
    settings = {
        "teacher": f"translator:{model}",
        "source_language": languages.source,
        "target_language": languages.target,
        "decoding": options.settings_from(iterations=iterations, speed=speed),
        "text": distill_texts(text),
        "every_line": True,
        "out": str(out),
    }
    where = options.machines(shard, ray)
    report_text(load_config(TextDistillConfig, None, [*where, *(overrides or ())], settings), "translated lines")
