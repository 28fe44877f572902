"""`maskpredict distill`: a teacher's translations as training text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskpredict.cli import options
from maskpredict.cli.options import Overrides, config_path
from maskpredict.errors import UserError
from maskpredict.extras import require

if TYPE_CHECKING:
    from maskpredict.distill.by_text import TextDistillConfig
    from maskpredict.distill.config import DistillConfig


def distill(
    config_or_out: Annotated[
        Path, typer.Argument(help="YAML file or shipped recipe, or the folder to make.", show_default=False)
    ],
    overrides: Overrides = None,
    teacher: Annotated[
        str | None,
        typer.Option(help="One of our models, transformers:NAME, ctranslate2:FOLDER or command:COMMAND."),
    ] = None,
    text: options.Text = None,
    reference: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="References of each --text, line by line.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Data folder to translate, instead of --text.")] = None,
    source_language: Annotated[str | None, typer.Option("--source-language", "-s", help="Such as de.")] = None,
    target_language: Annotated[str | None, typer.Option("--target-language", "-t", help="Such as en.")] = None,
    shard: options.Shard = None,
    ray: options.Ray = None,
) -> None:
    """Have a teacher translate the training sources, or continue doing so."""
    require("train", "`maskpredict distill`", ["torch", "sacrebleu"])
    file = config_path(config_or_out)
    flags = {
        "teacher": teacher,
        "text": distill_texts(text or (), reference or ()),
        "data": data and str(data),
        "source_language": source_language,
        "target_language": target_language,
    }
    given = {name: value for name, value in flags.items() if value}
    where = options.machines(shard, ray)
    if file.suffix in (".yaml", ".yml"):
        if given:
            raise UserError(f"{file} and options contradict each other; use key=value to override values of the file.")
        _run(file, [*where, *(overrides or ())], {})
    else:
        _run(None, [*where, *(overrides or ())], {"out": str(config_or_out), **given})


def _run(file: Path | None, overrides: Sequence[str], flags: Mapping[str, Any]) -> None:
    from maskpredict.config import load_config, read_settings
    from maskpredict.distill import DistillConfig
    from maskpredict.distill.by_text import TextDistillConfig
    from maskpredict.distill.teachers.base import KINDS

    settings = read_settings(file, overrides, flags)
    by_text = "text" in settings or "ray" in settings or str(settings.get("teacher")).partition(":")[0] in KINDS
    if by_text:
        _distill_text(load_config(TextDistillConfig, file, overrides, flags))
    else:
        _distill_data(load_config(DistillConfig, file, overrides, flags))


def _distill_data(config: DistillConfig) -> None:
    from maskpredict.distill import distill as run
    from maskpredict.training.distributed import is_main_process

    report = run(config)
    if not is_main_process():
        return
    if report.counts is not None:
        typer.echo(f"{report.counts.pairs:,} distilled pairs; the data folder is {report.out}.", err=True)
    else:
        typer.echo(f"{report.shards_done} of {report.shards} shards are done; the same command continues.", err=True)


def _distill_text(config: TextDistillConfig) -> None:
    report_text(config, "distilled pairs")


def report_text(config: TextDistillConfig, pairs: str) -> None:
    """Distil by text and show the outcome."""
    from rich.console import Console

    from maskpredict.distill.by_text import distill_text
    from maskpredict.distill.by_text.report import render
    from maskpredict.distill.by_text.run import is_main

    report = distill_text(config)
    if not is_main():
        return
    if report.finished:
        Console(stderr=True).print(render(report))
        typer.echo(f"{report.pairs:,} {pairs} are in {report.out}.", err=True)
        return
    last = "without --shard it merges them" if config.shard else "the same command continues"
    typer.echo(f"{report.shards_done} of {report.shards} shards are done; {last}.", err=True)


def distill_texts(texts: Sequence[str], references: Sequence[str] = ()) -> list[dict[str, str]]:
    """Values of the key `text` for files named on the command line."""
    if references and len(references) != len(texts):
        raise UserError("give as many --reference as --text, in the same order, or none.")
    if references:
        return [{"source": text, "target": other} for text, other in zip(texts, references, strict=True)]
    from maskpredict.corpus.reading import kind_of_file

    return [{kind_of_file(text) or "source": text} for text in texts]
