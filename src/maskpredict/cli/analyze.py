"""`maskpredict analyze`: the paper's tables and figures, and further analyses, for any model and test set."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from maskpredict.cli.options import Device, Threads
from maskpredict.errors import UserError
from maskpredict.extras import require


def analyze(
    model: Annotated[str, typer.Argument(help="Model folder, run folder, or name of a shipped model.")],
    out: Annotated[Path, typer.Argument(help="Folder for the results; an earlier analysis in it is continued.")],
    data: Annotated[Path, typer.Option(help="Data folder with the test set.")],
    split: Annotated[str, typer.Option(help="Split of the data folder.")] = "test",
    only: Annotated[
        list[str] | None, typer.Option(help="Run only these analyses, separated by commas; repeatable.")
    ] = None,
    teacher: Annotated[str | None, typer.Option(help="Autoregressive model to compare with.")] = None,
    raw: Annotated[str | None, typer.Option(help="The same model, trained on raw text.")] = None,
    small: Annotated[str | None, typer.Option(help="Smaller model, trained on the same text.")] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            help="ROLE=MODEL, with the role baseline, ar_distilled, fertility, ctc, refinement, insertion or any name; "
            "repeatable."
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Use only the first N sentences.")] = None,
    figure1: Annotated[str, typer.Option(help="Source sentence of the analysis figure1.")] = "",
    normalize: Annotated[str, typer.Option(help="Normalize spelling before scoring: ro, ro-no-diacritics.")] = "",
    compute_type: Annotated[str, typer.Option(help="float32, bfloat16, float16 or, on a CPU, int8.")] = "float32",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Measure quality, speed, repetitions, lengths and calibration; write JSON, tables, figures and a report."""
    require("train", "`maskpredict analyze`", ["torch", "sacrebleu", "matplotlib"])
    import torch

    from maskpredict.paper.models import MODEL, Competitors
    from maskpredict.paper.report.write import write_report
    from maskpredict.paper.run import analyze as run
    from maskpredict.paper.study import Study
    from maskpredict.progress import Progress

    if threads:
        torch.set_num_threads(threads)
    given = {MODEL: model, "teacher": teacher, "raw": raw, "small": small} | dict(map(_named, compare or ()))
    paths = {role: path for role, path in given.items() if path is not None}
    with Progress() as progress:
        study = Study(
            Competitors(paths, device, compute_type),
            data,
            split,
            out,
            out / "texts",
            limit=limit,
            normalization=normalize,
            figure1=figure1,
            command=_command(paths, out, data, split, limit, normalize, compute_type),
            progress=progress,
        )
        run(study, [name.strip() for text in only or () for name in text.split(",") if name.strip()])
    write_report(out, f"Analysis of {Path(model).name}")
    typer.echo(f"The report is {out / 'report.html'}; {out / 'texts'} holds sentences of the test set.", err=True)


def _command(
    models: dict[str, str], out: Path, data: Path, split: str, limit: int | None, normalize: str, compute_type: str
) -> str:
    """The command that makes the same results again, without the choice of analyses and the device."""
    compared = {role: model for role, model in models.items() if role != "model"}
    words = ["maskpredict", "analyze", models["model"], str(out), "--data", str(data), "--split", split]
    words += [word for role, model in compared.items() for word in ("--compare", f"{role}={model}")]
    options = {"--limit": limit, "--normalize": normalize, "--compute-type": compute_type}
    words += [word for name, value in options.items() if value for word in (name, str(value))]
    return shlex.join(words)


def _named(text: str) -> tuple[str, str]:
    role, equals, model = text.partition("=")
    if not equals or not role or not model:
        raise UserError(f"--compare is {text!r}; write it as ROLE=MODEL.")
    return role, model
