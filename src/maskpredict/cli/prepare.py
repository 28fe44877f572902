"""`maskpredict prepare`: raw parallel text in, a data folder out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from maskpredict.cli.options import Overrides, config_path
from maskpredict.errors import UserError

_PAIRED = ("--train", "--valid", "--test")
_BETWEEN = "\n"
_CORPUS = "SOURCE TARGET"


class PairsCommand(TyperCommand):
    """A command with repeatable options of two files each, which Typer does not support."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join the two files of each corpus option into one value."""
        joined: list[str] = []
        remaining = iter(args)
        for argument in remaining:
            joined.append(argument)
            if argument in _PAIRED:
                first = next(remaining, "")
                joined.append(first if _single(first) else f"{first}{_BETWEEN}{next(remaining, '')}")
        return super().parse_args(ctx, joined)


def prepare(
    config_or_out: Annotated[
        Path, typer.Argument(help="YAML file (then no options), or the data folder to make.", show_default=False)
    ],
    overrides: Overrides = None,
    source_language: Annotated[str | None, typer.Option("--source-language", "-s", help="Such as de.")] = None,
    target_language: Annotated[str | None, typer.Option("--target-language", "-t", help="Such as en.")] = None,
    train: Annotated[
        list[str] | None,
        typer.Option(
            metavar=_CORPUS,
            help="Two aligned files, one .tsv, .jsonl, .parquet, a folder, or - for TSV on standard input; repeatable.",
        ),
    ] = None,
    valid: Annotated[list[str] | None, typer.Option(metavar=_CORPUS, help="Corpus for validation; repeatable.")] = None,
    test: Annotated[list[str] | None, typer.Option(metavar=_CORPUS, help="Test set; repeatable.")] = None,
    vocab_size: Annotated[int | None, typer.Option(help="Number of subwords; 16,000 by default.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace an earlier data folder.")] = False,
) -> None:
    """Turn raw parallel text into a data folder: learn subwords, clean, encode."""
    from rich.console import Console

    from maskpredict.config import load_config
    from maskpredict.corpus.prepare import PrepareConfig
    from maskpredict.corpus.prepare import prepare as run
    from maskpredict.corpus.report import render
    from maskpredict.progress import Progress

    options: dict[str, Any] = {
        "source_language": source_language,
        "target_language": target_language,
        "train": [_corpus("--train", value) for value in train or ()],
        "valid": [_corpus("--valid", value) for value in valid or ()],
        "test": [_corpus("--test", value) for value in test or ()],
        "vocabulary": {"size": vocab_size} if vocab_size is not None else None,
        "overwrite": overwrite or None,
    }
    flags = {name: value for name, value in options.items() if value}
    file = config_path(config_or_out)
    if file.suffix in (".yaml", ".yml"):
        if flags.keys() - {"overwrite"}:
            raise UserError(f"{file} and options contradict each other; use key=value to override values of the file.")
        config = load_config(PrepareConfig, file, [*(overrides or ()), *(["overwrite=true"] if overwrite else [])])
    else:
        config = load_config(PrepareConfig, None, overrides or (), {"out": str(config_or_out), **flags})
    with Progress() as progress:
        report = run(config, progress)
    Console(stderr=True).print(render(report))


def _corpus(option: str, value: str) -> dict[str, str]:
    if key := _single(value):
        return {key: value}
    files: Sequence[str] = value.split(_BETWEEN)
    if len(files) != 2 or not all(files):
        raise UserError(
            f"{option} takes two files, sources and targets, or one that ends in .tsv, .jsonl or .parquet, "
            "or a folder, or -."
        )
    return {"source": files[0], "target": files[1]}


def _single(name: str) -> str:
    """Key of a corpus that is one argument; empty for two aligned files."""
    from maskpredict.corpus.reading import kind_of_file

    return "" if _BETWEEN in name else kind_of_file(name)
