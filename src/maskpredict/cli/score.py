"""`maskpredict score`: scores of given translations under a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maskpredict.cli import options
from maskpredict.cli.options import OutputFormat
from maskpredict.cli.streams import input_pairs, output, with_progress


def score(
    model: options.Model,
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Sources and targets as two files or one .tsv; standard input if left out."),
    ] = None,
    output_file: options.OutputFile = None,
    format: Annotated[OutputFormat, typer.Option(help="A score per line (text), or jsonl.")] = OutputFormat.text,
    pretokenized: Annotated[
        bool,
        typer.Option(help="Input is subwords separated by spaces; targets end in </s>, as in `translate`."),
    ] = False,
    iterations: options.Iterations = None,
    strategy: options.Strategy = None,
    length_penalty: options.LengthPenalty = None,
    batch_tokens: options.BatchTokens = None,
    device: options.Device = "auto",
    compute_type: options.ComputeType = "auto",
    engine: options.Engine = "auto",
    threads: options.Threads = None,
) -> None:
    """Score given translations as `translate` scores its output."""
    settings = options.settings_from(iterations=iterations, strategy=strategy, length_penalty=length_penalty)
    translator = options.open_translator(model, device, compute_type, engine, threads)
    scored = translator.score_stream(
        input_pairs(files or ()), pretokenized=pretokenized, max_batch_size=batch_tokens, **settings
    )
    with output(output_file) as out:
        for translation in with_progress(scored, "Scoring", output_file):
            if format is OutputFormat.text:
                out.write(str(translation.score))
            else:
                out.write_json(translation.to_dict())
