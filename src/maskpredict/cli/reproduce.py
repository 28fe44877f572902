"""`maskpredict reproduce`: runs a recipe from raw text to a scored model and a report."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from maskpredict.cli.distill import distill_texts
from maskpredict.cli.options import Config, Overrides, config_path
from maskpredict.extras import require

if TYPE_CHECKING:
    from maskpredict.reproduce.recipe import Recipe

_OUTSIDE = "A teacher from outside (recipe from-teacher)"
WORK_LEFT = 75
"""EX_TEMPFAIL of sysexits.h: the same command continues the work."""


def reproduce(
    recipe: Config,
    overrides: Overrides = None,
    work: Annotated[Path | None, typer.Option(help="Work folder; runs/RECIPE by default.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of the recipe's corpora.")] = None,
    stage: Annotated[
        str | None,
        typer.Option(help="Run only this stage: prepare, teacher, distill, student, evaluate, ship, ... (see --list)."),
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Time limit; exit code 75 means that work is left.")] = None,
    redo: Annotated[
        bool, typer.Option("--redo", help="Run stages again whose values have changed; old results are kept.")
    ] = False,
    results: Annotated[
        Path | None, typer.Option(help="Folder for scores and report; results/RECIPE by default.")
    ] = None,
    teacher: Annotated[
        str | None, typer.Option(help="Teacher from outside, as in distill.", rich_help_panel=_OUTSIDE)
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Text for it to translate; repeatable.", rich_help_panel=_OUTSIDE),
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STEM",
            help="Test set: STEM.de and STEM.en for de and en, in --data if given; repeatable.",
            rich_help_panel=_OUTSIDE,
        ),
    ] = None,
    source_language: Annotated[
        str | None, typer.Option("--source-language", "-s", help="Such as de.", rich_help_panel=_OUTSIDE)
    ] = None,
    target_language: Annotated[
        str | None, typer.Option("--target-language", "-t", help="Such as en.", rich_help_panel=_OUTSIDE)
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="Show the stages, their state and cost, and exit.")] = False,
    dry: Annotated[
        bool,
        typer.Option("--dry-run", help="Run all stages with tiny models and synthetic text, and discard the results."),
    ] = False,
) -> None:
    """Prepare data, train a teacher, distill, train a student, evaluate, ship and analyze; the same command resumes."""
    require("train", "`maskpredict reproduce`", ["torch", "tensorboard", "sacrebleu", "matplotlib"])
    from maskpredict.reproduce.publishing import publish
    from maskpredict.reproduce.recipe import load_recipe
    from maskpredict.reproduce.run import reproduce as run
    from maskpredict.training.distributed import is_main_process

    path = config_path(recipe)
    outside = {
        "outside.teacher": teacher,
        "outside.text": distill_texts(text) if text else None,
        "test": [{"stem": stem} for stem in test] if test else None,
        "source_language": source_language,
        "target_language": target_language,
    }
    given = [f"{name}={json.dumps(value)}" for name, value in outside.items() if value is not None]
    overrides = [*given, *(overrides or ())]
    loaded = load_recipe(path, overrides)
    folder = work or Path("runs") / path.stem
    if show:
        _show(loaded, folder, results or Path("results") / path.stem)
        return
    if dry:
        _dry_run(loaded)
        return
    command = shlex.join(["maskpredict", "reproduce", path.stem, *overrides])
    result = run(loaded, folder, data=data, stage=stage, seconds=seconds, redo=redo, command=command)
    if is_main_process():
        publish(command, loaded, folder, results or Path("results") / path.stem)
    if not result.finished:
        left = ", ".join(result.left)
        typer.echo(f"Stopped with work left ({left}); the same command continues.", err=True)
        raise typer.Exit(WORK_LEFT)
    typer.echo(f"Finished; the results are in {folder}.", err=True)


def _show(recipe: Recipe, folder: Path, results: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from maskpredict.reproduce.costs import stage_costs, total
    from maskpredict.reproduce.run import stage_states

    states = stage_states(recipe, folder)
    costs = stage_costs(recipe, [state.stage.name for state in states], results)
    table = Table("stage", "state", "seconds", "cost", "makes", "why")
    for state in states:
        seconds = f"{state.seconds:,.0f}" if state.record else ""
        cost, makes = costs[state.stage.name].text, str(folder / state.stage.makes[0])
        table.add_row(state.stage.name, state.state, seconds, cost, makes, state.reason)
    Console().print(table)
    typer.echo(total(costs))


def _dry_run(recipe: Recipe) -> None:
    from rich.console import Console
    from rich.table import Table

    from maskpredict.reproduce.dry_run import dry_run

    table = Table("model", "system", "parameters", "length", "tokens an update", "at once", "text")
    for plan in dry_run(recipe):
        length = f"{plan.seconds:,.0f} s" if plan.seconds else f"{plan.updates:,} updates"
        numbers = (f"{plan.parameters / 1e6:.1f} M", length, f"{plan.tokens:,}", f"{plan.part_tokens:,}")
        table.add_row(plan.name, plan.system, *numbers, plan.data)
    Console().print(table)
    typer.echo("All stages run with tiny models.", err=True)
