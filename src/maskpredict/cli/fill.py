"""`maskpredict fill`: complete translations that have gaps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from maskpredict.cli import options
from maskpredict.cli.options import OutputFormat
from maskpredict.cli.streams import input_pairs, output, with_progress

if TYPE_CHECKING:
    from maskpredict.runtime.translation import Translation


def fill(
    model: options.Model,
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Sources and templates as two files or one .tsv; standard input if left out."),
    ] = None,
    output_file: options.OutputFile = None,
    format: Annotated[OutputFormat, typer.Option(help="Format of a line of output.")] = OutputFormat.text,
    speed: options.Speed = None,
    iterations: options.Iterations = None,
    length_candidates: options.LengthCandidates = None,
    strategy: options.Strategy = None,
    judge: options.Judge = None,
    batch_tokens: options.BatchTokens = None,
    device: options.Device = "auto",
    compute_type: options.ComputeType = "auto",
    engine: options.Engine = "auto",
    threads: options.Threads = None,
) -> None:
    """Complete targets with gaps: ___ stands for some subwords, ___{3} for three.

    A line of standard input is a source, a tab and a template, such as `Guten Morgen!` and `Good ___!`
    """
    settings = options.settings_from(
        speed=speed, iterations=iterations, length_candidates=length_candidates, strategy=strategy
    )
    translator = options.open_translator(model, device, compute_type, engine, threads, judge)
    from maskpredict.runtime.lines import Line

    filled = translator.translate_lines(
        (Line(source, template=template) for source, template in input_pairs(files or ())),
        max_batch_size=batch_tokens,
        **settings,
    )
    with output(output_file) as out:
        translation: Translation
        for translation in with_progress(filled, "Filling", output_file):
            if format is OutputFormat.text:
                out.write(translation.text)
            else:
                out.write_json(translation.to_dict())
