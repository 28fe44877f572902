"""`maskpredict translate`: a Unix filter, one line out for each line in."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskpredict import __version__
from maskpredict.cli import options
from maskpredict.cli.documents import translate_document
from maskpredict.cli.options import TranslateFormat
from maskpredict.cli.streams import LineWriter, input_lines, is_interactive, with_progress
from maskpredict.cli.unfinished import line_output
from maskpredict.documents.names import is_document
from maskpredict.errors import UserError

if TYPE_CHECKING:
    from maskpredict.runtime.lines import Line, PinLike
    from maskpredict.runtime.translation import Translation

_PLACED = re.compile(r"(.+)@(-?\d+)")


def translate(
    model: options.Model,
    file: Annotated[Path | None, typer.Argument(help="Text or document; standard input if left out.")] = None,
    output_file: options.OutputFile = None,
    format: Annotated[TranslateFormat, typer.Option(help="Format of a line of output.")] = TranslateFormat.text,
    play: Annotated[bool, typer.Option("--play", help="Show every pass in the terminal instead.")] = False,
    pin: Annotated[
        list[str] | None,
        typer.Option(help="Phrase that every translation contains; PHRASE@3 places it at position 3; repeatable."),
    ] = None,
    glossary: Annotated[
        Path | None, typer.Option(help="Terms and their translations, as .tsv, .csv or .tbx: docs/glossaries.md.")
    ] = None,
    reference: Annotated[Path | None, typer.Option(help="Reference translations, for --gold-length.")] = None,
    gold_length: Annotated[bool, typer.Option("--gold-length", help="Decode at the reference's length.")] = False,
    pretokenized: options.Pretokenized = False,
    raw: Annotated[bool, typer.Option("--raw", help="Do not protect placeholders, addresses, numbers, ...")] = False,
    collapse_repeats: Annotated[
        bool, typer.Option("--collapse-repeats", help="Drop subwords that equal their left neighbour.")
    ] = False,
    speed: options.Speed = None,
    iterations: options.Iterations = None,
    length_candidates: options.LengthCandidates = None,
    strategy: options.Strategy = None,
    stop_when_stable: options.StopWhenStable = None,
    threshold: options.Threshold = None,
    length_threshold: options.LengthThreshold = None,
    length_weight: options.LengthWeight = None,
    prune_candidates: options.PruneCandidates = None,
    shortlist: options.Shortlist = None,
    num_hypotheses: options.NumHypotheses = None,
    beam_size: options.BeamSize = None,
    length_penalty: options.LengthPenalty = None,
    judge: options.Judge = None,
    batch_tokens: options.BatchTokens = None,
    device: options.Device = "auto",
    compute_type: options.ComputeType = "auto",
    engine: options.Engine = "auto",
    threads: options.Threads = None,
) -> None:
    """Translate lines of text, or a document: its format is noticed by its name, as in report.docx."""
    if gold_length != (reference is not None):
        raise UserError("--gold-length and --reference go together; give both or neither.")
    settings = options.settings_from(
        speed=speed,
        iterations=iterations,
        length_candidates=length_candidates,
        strategy=strategy,
        stop_when_stable=stop_when_stable,
        threshold=threshold,
        length_threshold=length_threshold,
        length_weight=length_weight,
        prune_candidates=prune_candidates,
        shortlist=shortlist,
        num_hypotheses=num_hypotheses,
        beam_size=beam_size,
        length_penalty=length_penalty,
        trace=True if play or format is TranslateFormat.trace else None,
    )
    if file is not None and is_document(file.name):
        if play or pin or reference or pretokenized or collapse_repeats or format is not TranslateFormat.text:
            raise UserError(
                f"{file.name} is translated as a document; --play, --pin and the like are for lines of text."
            )
        translate_document(
            lambda: options.open_translator(model, device, compute_type, engine, threads, judge),
            file,
            output_file,
            glossary,
            raw=raw,
            max_batch_size=batch_tokens,
            **settings,
        )
        return
    typed = is_interactive(file)
    translator = options.open_translator(model, device, compute_type, engine, threads, judge)
    if shortlist and not translator.has_shortlist:
        raise UserError(f"{model} has no shortlist; make one with `maskpredict shortlist`.")
    terms = None if glossary is None else translator.open_glossary(glossary)
    given = _lines(file, reference, tuple(_pin(text) for text in pin or ()))
    made_by = {
        "version": __version__,
        "model": _digest_of_model(model),
        "judge": judge and _digest_of_model(judge),
        "engine": [translator.engine.name, translator.device, translator.compute_type],
        "glossary": glossary and sha256(glossary.read_bytes()).hexdigest(),
        "setting": [format.value, raw, pretokenized, collapse_repeats, settings],
    }
    with line_output(output_file, made_by, flush_lines=typed) as out:
        lines, sources = itertools.tee(out.remaining(given, lambda line: (line.source, line.reference, line.pins)))
        translations = translator.translate_lines(
            (replace(line, glossary=terms) for line in lines),
            pretokenized=pretokenized,
            raw=raw,
            collapse_repeats=collapse_repeats,
            max_batch_size=batch_tokens,
            window=1 if typed or play else None,
            **settings,
        )
        for line, translation in zip(sources, with_progress(translations, "Translating", output_file), strict=True):
            if play:
                _play(line.source, translation)
            else:
                _write(out, format, line.source, translation)


def _digest_of_model(model: str) -> str:
    from maskpredict.model.folder import CONFIG_FILE, GENERATION_FILE
    from maskpredict.runtime.find_model import find_model

    folder = find_model(model)
    # The config has the checksum of the weights.
    files = (folder / CONFIG_FILE, folder / GENERATION_FILE)
    return sha256(b"\n".join(file.read_bytes() for file in files if file.exists())).hexdigest()


def _lines(file: Path | None, reference: Path | None, pins: tuple[PinLike, ...]) -> Iterator[Line]:
    from maskpredict.runtime.lines import Line

    if reference is None:
        yield from (Line(source, pins, number=number) for number, source in enumerate(input_lines(file), 1))
        return
    for number, (source, target) in enumerate(itertools.zip_longest(input_lines(file), input_lines(reference)), 1):
        if source is None or target is None:
            raise UserError(f"{reference} does not have as many lines as the input; references are line by line.")
        yield Line(source, pins, target, number=number)


def _pin(text: str) -> PinLike:
    placed = _PLACED.fullmatch(text)
    if placed is None:
        return text
    if int(placed[2]) < 0:
        raise UserError(f"--pin {text} has a negative position; the first subword of a translation is at position 0.")
    return placed[1], int(placed[2])


def _write(out: LineWriter, format: TranslateFormat, source: str, translation: Translation) -> None:
    if format is TranslateFormat.text:
        out.write(translation.text)
    elif format is TranslateFormat.jsonl:
        out.write_json(translation.to_dict())
    else:
        out.write_json({"source": source, **_traced(translation)})


def _traced(translation: Translation) -> dict[str, Any]:
    record: dict[str, Any] = {"text": translation.text, "score": translation.score, "trace": None}
    if translation.trace is not None:
        record["trace"] = translation.trace.to_dict()
    if translation.parts:
        record["parts"] = [_traced(part) for part in translation.parts]
    return record


def _play(source: str, translation: Translation) -> None:
    from rich.console import Console

    from maskpredict.player import play

    for part in translation.parts or (translation,):
        if part.trace is not None:
            play(part.trace, source, Console())
