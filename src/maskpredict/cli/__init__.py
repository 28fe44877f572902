"""The command line: `maskpredict VERB`. Each verb is a thin function over the library function of the same name.

Nothing heavy is imported here or at the top of a verb's file: `maskpredict --help` must not wait for PyTorch.
"""

from __future__ import annotations

from typing import Annotated

import typer

import maskpredict
from maskpredict.cli.analyze import analyze
from maskpredict.cli.average import average
from maskpredict.cli.bench import bench
from maskpredict.cli.bulk import bulk
from maskpredict.cli.demo import demo
from maskpredict.cli.distill import distill
from maskpredict.cli.evaluate import evaluate
from maskpredict.cli.exit_status import with_exit_status
from maskpredict.cli.export import export
from maskpredict.cli.fill import fill
from maskpredict.cli.import_ import import_
from maskpredict.cli.inspect import inspect
from maskpredict.cli.models import models
from maskpredict.cli.pack import pack, unpack
from maskpredict.cli.prepare import PairsCommand, prepare
from maskpredict.cli.report import report
from maskpredict.cli.reproduce import reproduce
from maskpredict.cli.score import score
from maskpredict.cli.serve import serve
from maskpredict.cli.shortlist import shortlist
from maskpredict.cli.train import train
from maskpredict.cli.translate import translate

app = typer.Typer(
    help="Machine translation in a constant number of parallel steps.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command(cls=PairsCommand)(with_exit_status(prepare))
for verb in (
    train,
    average,
    distill,
    translate,
    bulk,
    fill,
    score,
    evaluate,
    export,
    inspect,
    shortlist,
    reproduce,
    pack,
    unpack,
    demo,
):
    app.command()(with_exit_status(verb))
app.command("import")(with_exit_status(import_))
app.command()(with_exit_status(analyze))
app.command()(with_exit_status(report))
app.command()(with_exit_status(bench))
app.command()(with_exit_status(serve))
app.command()(with_exit_status(models))


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"maskpredict {maskpredict.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Machine translation in a constant number of parallel steps."""


def main() -> None:
    """Run the command line and exit with its code."""
    app(prog_name="maskpredict")
