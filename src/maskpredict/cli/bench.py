"""`maskpredict bench`: speed and quality of our engines and other engines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from maskpredict.cli import options
from maskpredict.cli.streams import output
from maskpredict.errors import UserError
from maskpredict.extras import require

if TYPE_CHECKING:
    from maskpredict.bench.config import BenchConfig, PassesAndCandidates
    from maskpredict.evaluate.reference_set import ReferenceSet

T = TypeVar("T")


def _racers(help: str, *names: str, default: str | bool = False) -> Any:
    return typer.Option(*names, help=help, rich_help_panel="Racers", show_default=default)


def _sentences(help: str, default: str | bool = False) -> Any:
    return typer.Option(help=help, rich_help_panel="Sentences", show_default=default)


def _race(help: str, default: str | bool = False) -> Any:
    return typer.Option(help=help, rich_help_panel="Race", show_default=default)


def bench(
    context: typer.Context,
    model: Annotated[str, _racers("CMLM.", "--model", "-m", default="a shipped one, if no teacher is given")] = "",
    shallow: Annotated[str, _racers("Another CMLM, such as one with a shallow decoder.")] = "",
    teacher: Annotated[str, _racers("Autoregressive model, for our beam search and the other engines.")] = "",
    rival: Annotated[str, _racers("Another autoregressive model, for CTranslate2.")] = "",
    one_pass: Annotated[str, _racers("Single-pass model, such as ctc.")] = "",
    alignment: Annotated[str, _racers("Alignment model.")] = "",
    alignment_passes: Annotated[str | None, _racers("Passes of the alignment model.", default="1,2,4")] = None,
    passes: Annotated[str | None, _racers("Passes and length candidates, as T:L.", default="4:1,10:5")] = None,
    speeds: Annotated[str | None, _racers("Presets of mask-predict.", default="fast,balanced,best")] = None,
    beams: Annotated[str | None, _racers("Beam sizes.", default="1,5")] = None,
    peers: Annotated[str | None, _racers("Other engines.", default="ctranslate2,transformers")] = None,
    compute_types: Annotated[
        str | None, _racers("Compute types, the main one last.", default="float32,int8; on a GPU float16")
    ] = None,
    distillation: Annotated[
        bool, _racers("Instead, race distillation by text with distillation by ids, for the beams of --teacher.")
    ] = False,
    baseline: Annotated[list[str] | None, _racers("Racer that the others are compared with; repeatable.")] = None,
    data: Annotated[Path | None, _sentences("Data folder.", "sentences that come with the package")] = None,
    split: Annotated[str | None, _sentences("Split of the data folder.", "its first test split")] = None,
    source: Annotated[Path | None, _sentences("File of sources, instead of a data folder.")] = None,
    reference: Annotated[list[Path] | None, _sentences("File of references; repeatable.")] = None,
    sentences: Annotated[int | None, _sentences("Number of sentences to time.", "64")] = None,
    subwords: Annotated[int | None, _sentences("Time the sentences closest to this length.")] = None,
    bleu_sentences: Annotated[int | None, _sentences("Number of sentences for BLEU.", "those that are timed")] = None,
    batch_sizes: Annotated[str | None, _race("Batch sizes.", "1,10,32,64")] = None,
    rounds: Annotated[int | None, _race("Rounds; each measures every racer.", "5")] = None,
    calls: Annotated[int | None, _race("Maximum number of batches in a timed run.", "32")] = None,
    seconds: Annotated[float | None, _race("Time limit; every racer still runs once.")] = None,
    seed: Annotated[int | None, _race("Random seed.", "1")] = None,
    quick: Annotated[bool, _race("Short run of less than a minute.")] = False,
    output_folder: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for JSON, table and figures.")
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace earlier results in that folder.")] = False,
    device: options.Device = "auto",
    engine: options.Engine = "auto",
    threads: options.Threads = None,
) -> None:
    """Compare speed and BLEU of our engines, CTranslate2 and Hugging Face transformers.

    Separate several values by commas. The table goes to standard output.
    """
    require("bench", "`maskpredict bench`", ["torch", "sacrebleu", "matplotlib"])
    from maskpredict.bench.config import BenchConfig, quick_values
    from maskpredict.bench.result_files import new_results, write_json, write_results
    from maskpredict.bench.run import bench as run
    from maskpredict.bench.table import markdown
    from maskpredict.export import export_ctranslate2

    given = {
        "passes": _listed(passes, "--passes", _passes),
        "speeds": _listed(speeds, "--speeds", str),
        "alignment_passes": _listed(alignment_passes, "--alignment-passes", int),
        "beams": _listed(beams, "--beams", int),
        "peers": _listed(peers, "--peers", str),
        "compute_types": _listed(compute_types, "--compute-types", str),
        "baselines": tuple(baseline) if baseline else None,
        "sentences": sentences,
        "subwords": subwords,
        "bleu_sentences": bleu_sentences,
        "batch_sizes": _listed(batch_sizes, "--batch-sizes", int),
        "rounds": rounds,
        "calls": calls,
        "seconds": seconds,
        "seed": seed,
        "threads": threads,
    }
    values = quick_values(device) if quick else {}
    values |= {name: value for name, value in given.items() if value is not None}
    if distillation:
        _refuse_others(context)
        if not teacher:
            raise UserError("name a teacher of ours with --teacher: only those distil by ids, too.")
        settings = BenchConfig(teacher=teacher, device=device, **values)
        _race_distillation(settings, source, output_folder, overwrite=overwrite)
        return
    model = model or _shipped(shallow or teacher or one_pass or alignment)
    config = BenchConfig(model, shallow, teacher, rival, one_pass, alignment, device=device, engine=engine, **values)
    test_set = _test_set(data, split, source, reference or [])
    folder = new_results(output_folder, overwrite=overwrite) if output_folder else None
    result = run(
        config,
        test_set,
        export_ctranslate2,
        save=lambda result: write_json(result, folder) if folder else None,
        quiet=False,
    )
    if folder:
        write_results(result, folder)
    with output(None) as out:
        out.write(markdown(result).rstrip("\n"))
    if result.interrupted:
        raise KeyboardInterrupt


OF_DISTILLATION = (
    *("distillation", "teacher", "beams", "source", "sentences", "rounds", "seed"),
    *("device", "threads", "output_folder", "overwrite"),
)
"""Options that have a meaning with --distillation."""


def _refuse_others(context: typer.Context) -> None:
    """Refuse options that a race of distillations does not have."""
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if source is not None and source.name == "COMMANDLINE" and option.name not in OF_DISTILLATION:
            raise UserError(f"{option.opts[0]} has no effect with --distillation; leave it out.")


def _race_distillation(config: BenchConfig, source: Path | None, out: Path | None, *, overwrite: bool) -> None:
    from maskpredict.bench.distillation import race_distillation
    from maskpredict.bench.result_files import new_results, write_distillation

    folder = new_results(out, overwrite=overwrite) if out else None
    result = race_distillation(config, source, quiet=False)
    if folder:
        write_distillation(result, folder)
    with output(None) as stream:
        stream.write(result.to_markdown().rstrip("\n"))


def _shipped(other: str) -> str:
    """Default of --model: empty if another model is given, else the first of the default models."""
    from maskpredict.runtime.find_model import default_models

    return "" if other else next(iter(default_models()), "")


def _listed(text: str | None, option: str, parse: Callable[[str], T]) -> tuple[T, ...] | None:
    """Parse comma-separated values; None if the option was not given."""
    if text is None:
        return None
    try:
        return tuple(parse(part.strip()) for part in text.split(",") if part.strip())
    except ValueError:
        raise UserError(f"{option} cannot be {text!r}; `maskpredict bench --help` shows how to write it.") from None


def _passes(text: str) -> PassesAndCandidates:
    from maskpredict.bench.config import PassesAndCandidates

    iterations, _, length_candidates = text.partition(":")
    return PassesAndCandidates(int(iterations), int(length_candidates or 1))


def _test_set(data: Path | None, split: str | None, source: Path | None, references: list[Path]) -> ReferenceSet | None:
    from maskpredict.evaluate.reference_set import set_from_files, sets_from_data

    if data is not None:
        if source or references:
            raise UserError("a data folder has sources and references; give --data, or --source and --reference.")
        return sets_from_data(data, [split] if split else [])[0]
    if split:
        raise UserError("--split is a split of a data folder; give the folder with --data.")
    return set_from_files(references, source) if source or references else None
