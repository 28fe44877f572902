"""`maskpredict evaluate`: scores of translations, with signatures, confidence intervals and paired tests."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskpredict.cli import options
from maskpredict.cli.streams import LineWriter, output
from maskpredict.errors import UserError
from maskpredict.extras import require
from maskpredict.yaml_dialect import parse_yaml

if TYPE_CHECKING:
    from maskpredict.evaluate.reference_set import ReferenceSet
    from maskpredict.evaluate.run import Evaluation
    from maskpredict.evaluate.systems import ModelSystem, ScoredSystem
    from maskpredict.runtime.translator import Translator

_TEXT_WIDTH = 120


class ReportFormat(StrEnum):
    """Format of the report."""

    table = "table"
    json = "json"


class PairedTest(StrEnum):
    """Paired test of each system against the first."""

    bootstrap = "bootstrap"
    randomization = "randomization"
    none = "none"


def evaluate(
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="[NAME=]MODEL[,setting=value...], as in t4=en-de,iterations=4; repeatable."),
    ] = None,
    hypotheses: Annotated[
        list[str] | None, typer.Option(help="[NAME=]FILE of finished translations; repeatable.")
    ] = None,
    reference: Annotated[list[Path] | None, typer.Option(help="File of references; repeatable.")] = None,
    source: Annotated[Path | None, typer.Option(help="File of sources, for models.")] = None,
    data: Annotated[Path | None, typer.Option(help="Data folder whose test splits to use instead of files.")] = None,
    split: Annotated[list[str] | None, typer.Option(help="Split of the data folder; repeatable.")] = None,
    metric: Annotated[str, typer.Option(help="Metrics, separated by commas; also tokenized_bleu.")] = "bleu,chrf,ter",
    target_language: Annotated[str, typer.Option(help="Target language, if data and models have none.")] = "",
    normalize: Annotated[str, typer.Option(help="Unify spelling before scoring: ro, ro-no-diacritics.")] = "",
    confidence: Annotated[int, typer.Option(help="Bootstrap samples of confidence intervals; 0 for none.")] = 1_000,
    paired: Annotated[
        PairedTest, typer.Option(help="Paired test of each system against the first.")
    ] = PairedTest.bootstrap,
    comet_command: Annotated[
        str, typer.Option(help="Program whose last word is a score; {source}, {hypothesis}, {reference} are files.")
    ] = "",
    format: Annotated[ReportFormat, typer.Option(help="Format of the report.")] = ReportFormat.table,
    output_file: options.OutputFile = None,
    save_translations: Annotated[Path | None, typer.Option(help="Folder for all translations.")] = None,
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
    beam_size: options.BeamSize = None,
    length_penalty: options.LengthPenalty = None,
    judge: options.Judge = None,
    batch_tokens: options.BatchTokens = None,
    device: options.Device = "auto",
    compute_type: options.ComputeType = "auto",
    engine: options.Engine = "auto",
    threads: options.Threads = None,
) -> None:
    """Score models or finished translations on test sets; other systems are compared with the first."""
    require("evaluate", "`maskpredict evaluate`", ["sacrebleu"])
    from maskpredict.evaluate.run import ScoringConfig
    from maskpredict.evaluate.run import evaluate as run
    from maskpredict.evaluate.systems import HypothesisFile

    config = ScoringConfig(
        metrics=tuple(name.strip() for name in metric.split(",") if name.strip()),
        confidence=confidence,
        paired_test="" if paired is PairedTest.none else paired.value,
        normalize=normalize,
        comet_command=comet_command,
    )
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
        beam_size=beam_size,
        length_penalty=length_penalty,
        judge=judge,
    )
    files = [HypothesisFile(Path(path), name) for name, path in map(_named, hypotheses or ())]
    models = _Models(device, compute_type, engine, threads, batch_tokens)
    systems: list[ScoredSystem] = [*files, *(models.open(text, settings) for text in model or ())]
    sets = _sets(data, split or (), reference or (), source, target_language, models.target_language)
    if files and len(sets) > 1:
        raise UserError("finished translations belong to one test set; name it with --split.")
    places = _places(save_translations, systems, sets) if save_translations else {}
    with output(output_file) as out:  # opened first, so that a file that cannot be written fails at once
        evaluation = run(systems, sets, config, quiet=False)
        _save(evaluation, places)
        _report(evaluation, format, out, to_terminal=output_file is None and sys.stdout.isatty())


class _Models:
    """Loads each model once per judge."""

    def __init__(
        self, device: str, compute_type: str, engine: str, threads: int | None, batch_tokens: int | None
    ) -> None:
        self.device, self.compute_type, self.engine = device, compute_type, engine
        self.threads, self.batch_tokens = threads, batch_tokens
        self.translators: dict[tuple[str, str | None], Translator] = {}

    def open(self, text: str, settings: dict[str, Any]) -> ModelSystem:
        """The system of `[NAME=]MODEL[,setting=value...]`; its settings override the options."""
        from maskpredict.evaluate.systems import ModelSystem

        described, *assignments = [text] if Path(text).exists() else text.split(",")
        name, model = _named(described)
        settings = {**settings, **dict(_setting(assignment, text) for assignment in assignments)}
        judge = settings.pop("judge", None)
        key = (model, judge)
        if key not in self.translators:
            self.translators[key] = options.open_translator(
                model, self.device, self.compute_type, self.engine, self.threads, judge
            )
        return ModelSystem(self.translators[key], name or text, max_batch_size=self.batch_tokens, **settings)

    @property
    def target_language(self) -> str:
        """Target language of the first model; empty without models."""
        return next((translator.languages.target for translator in self.translators.values()), "")


def _named(text: str) -> tuple[str, str]:
    """Name and value of `NAME=VALUE`; the name is empty if there is none."""
    name, equals, what = text.partition("=")
    if not equals or Path(text).exists():
        return "", text
    if not name or not what:
        raise UserError(f"{text!r} lacks a name or a file; write it as NAME=FILE.")
    return name, what


def _setting(assignment: str, text: str) -> tuple[str, Any]:
    key, equals, value = assignment.partition("=")
    if not key or not equals:
        raise UserError(f"{assignment!r} in --model {text} is no setting; write it as iterations=4.")
    return key, parse_yaml(value, f"--model {text}")


def _sets(
    data: Path | None,
    splits: Sequence[str],
    references: Sequence[Path],
    source: Path | None,
    target_language: str,
    language_of_models: str,
) -> list[ReferenceSet]:
    from maskpredict.evaluate.reference_set import set_from_files, sets_from_data

    if data is None:
        if splits:
            raise UserError("--split is a split of a data folder; give the folder with --data.")
        return [set_from_files(references, source, target_language or language_of_models)]
    if references or source is not None:
        raise UserError("a data folder has sources and references; give --data, or --source and --reference.")
    return sets_from_data(data, splits, target_language)


def _places(folder: Path, systems: Sequence[ScoredSystem], sets: Sequence[ReferenceSet]) -> dict[tuple[str, str], Path]:
    """Create the folder; returns the file for each system and test set."""
    keys = [(system.name, references.name) for system in systems for references in sets]
    places = {key: folder / (".".join(re.sub(r"[^\w.-]+", "-", name) for name in key) + ".txt") for key in keys}
    if len(set(places.values())) < len(keys):
        raise UserError("two systems would be saved under one name; write NAME=... to tell them apart.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be made: {error.strerror}.") from error
    return places


def _save(evaluation: Evaluation, places: dict[tuple[str, str], Path]) -> None:
    for result in evaluation.sets if places else ():
        for system in result.systems:
            with output(places[system.name, result.name]) as out:
                for translation in system.translations:
                    out.write(translation)


def _report(evaluation: Evaluation, format: ReportFormat, out: LineWriter, *, to_terminal: bool) -> None:
    """Write the report; `to_terminal` fits a table to the terminal, with colours."""
    from rich.console import Console

    from maskpredict.evaluate.table import render

    if format is ReportFormat.json:
        out.write(json.dumps(evaluation.to_dict(), ensure_ascii=False, allow_nan=False, indent=2))
    elif to_terminal:
        Console().print(render(evaluation), crop=False)
    else:
        text = io.StringIO()
        Console(file=text, width=_TEXT_WIDTH).print(render(evaluation), crop=False)
        for line in text.getvalue().splitlines():
            out.write(line.rstrip())
