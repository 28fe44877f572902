"""`write_report`: writes report.md and report.html from the results in a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from maskpredict.errors import UserError
from maskpredict.paper.analyses import ANALYSES
from maskpredict.paper.cell import Cell
from maskpredict.paper.counts import read_counts
from maskpredict.paper.finding import Finding, Setup, read_finding
from maskpredict.paper.models import title as role_title
from maskpredict.paper.report.claims_table import claims_table, command_of, origin_of, tally
from maskpredict.paper.report.comparison_table import with_paper_columns
from maskpredict.paper.report.html_page import html_page
from maskpredict.paper.report.markdown_page import markdown_page
from maskpredict.paper.report.page import Block, Bullets, Command, Heading, Paragraph, Picture
from maskpredict.paper.report.provenance import made, measured_with, weights_of
from maskpredict.paper.report.published_numbers import PaperResult, paper_results
from maskpredict.paper.report.verdicts import Judgement, judge_all, over_seeds
from maskpredict.paper.table import Column, ResultTable

SCORES_FILE = "scores.json"
"""Scores of a recipe on all its test sets: a list of {system, settings, split, bleu, signature}."""
MARKDOWN_FILE, HTML_FILE = "report.md", "report.html"
SEED_FOLDER = "seed-"
"""Folders seed-2, seed-3, ... hold the results of the same models trained with other random seeds."""
SEEDS_WANTED = 2
"""Seeds on which a verdict on the main table should rest."""


def write_report(folder: Path, title: str) -> None:
    """Write the report on the results of the analyses in `folder`."""
    findings = read_findings(folder)
    if not findings:
        raise UserError(f"{folder} holds no results; run `maskpredict analyze` first.")
    blocks = list(_blocks(folder, title, findings))
    for name, text in ((MARKDOWN_FILE, markdown_page(blocks)), (HTML_FILE, html_page(blocks))):
        partial = folder / f"{name}.partial"
        partial.write_text(text, encoding="utf-8")
        partial.replace(folder / name)


def read_findings(folder: Path) -> dict[str, Finding]:
    """Results of the analyses in a folder, by name."""
    return {name: finding for name, analysis in ANALYSES.items() if (finding := read_finding(folder, analysis))}


def title_of(folder: Path) -> str:
    """Title of the report in a folder; if there is none yet, the folder's name."""
    path = folder / MARKDOWN_FILE
    first = path.read_text(encoding="utf-8").partition("\n")[0] if path.exists() else ""
    return first.removeprefix("# ") or folder.name


def judgements_on(folder: Path) -> list[Judgement]:
    """Judgements on all claims by the results in a folder, and by those of other seeds below it."""
    first = _judgements(folder)
    others = [_judgements(seed) for seed in sorted(folder.glob(f"{SEED_FOLDER}*"))]
    return [over_seeds(judgement, again) for judgement, *again in zip(first, *others, strict=True)]


def _judgements(folder: Path) -> list[Judgement]:
    findings = read_findings(folder)
    setup = next(iter(findings.values())).setup
    paper = paper_results(setup.source_language, setup.target_language)
    return judge_all({name: finding.result for name, finding in findings.items()}, paper, read_counts(folder))


def _blocks(folder: Path, title: str, findings: dict[str, Finding]) -> Iterator[Block]:
    setup = next(iter(findings.values())).setup
    paper = paper_results(setup.source_language, setup.target_language)
    judgements = judgements_on(folder)
    yield Heading(title, 1)
    yield from _introduction(setup, findings)
    yield Heading("The paper's claims")
    yield Paragraph(_summary(judgements))
    yield claims_table([origin_of(folder, judgement, findings) for judgement in judgements])
    yield from _how_made(folder)
    for name in ANALYSES:
        claims = [judgement for judgement in judgements if judgement.claim.analysis == name]
        yield from _section(folder, name, findings.get(name), paper.get(name), claims)
        if name in findings and (differences := _setup_differences(findings[name].setup, setup)):
            yield Paragraph(differences)
    yield from _scores(folder)


def _introduction(setup: Setup, findings: dict[str, Finding]) -> Iterator[Block]:
    yield Paragraph(
        f"{setup.sentences:,} sentences of {setup.split}, {setup.source_language} to {setup.target_language}. "
        f"Computed on {setup.device} in {setup.compute_type} with maskpredict {setup.versions['maskpredict']} and "
        f"PyTorch {setup.versions['torch']}."
    )
    if setup.signature:
        yield Paragraph(
            f"BLEU is sacreBLEU's on raw text: {setup.signature}. The paper's is computed on tokenized text."
        )
    if setup.switched_off:
        settings = ", ".join(f"{name} {value}" for name, value in setup.switched_off.items())
        yield Paragraph(f"The model's folder recommends {settings}, which the paper does not have: switched off here.")
    facts = {model.role: model for finding in findings.values() for model in finding.setup.models}
    if facts:
        heads = (Column("model"), Column("system"), Column("dimensions"))
        columns = (*heads, Column("parameters, millions", decimals=1), Column("weights"))
        yield ResultTable(
            columns,
            tuple(
                (
                    *(role_title(model.role), model.system, model.dimensions),
                    *(Cell(model.parameters / 1e6), weights_of(model)),
                )
                for model in facts.values()
            ),
        )


def _summary(judgements: Sequence[Judgement]) -> str:
    return (
        f"{tally(judgements)} Each is a number that is measured here as in the paper. Its "
        "interval of 95% must be on the right side of a fixed threshold, else the claim is undecided. Intervals are a "
        "paired bootstrap over sentences; one with * is the sum of the systems' own intervals, which is wider. Without "
        "counts of the sentences there is none, and no verdict. The paper's numbers are for its own data. Verdicts on "
        f"the main table should rest on {SEEDS_WANTED} random seeds; with fewer they are about these very models."
    )


def _how_made(folder: Path) -> Iterator[Block]:
    """Command that prepares the test set, and what a reader must know to compare the models."""
    how = made(folder)
    if "data" in how:
        yield Paragraph(
            "All commands of this page are for the root of a clone. This one prepares the test set; CORPORA is the "
            "folder of corpora that docs/reproducing.md describes:"
        )
        yield Command(how["data"])
    if how.get("notes"):
        yield Heading("How the models were made")
        yield Bullets(tuple(how["notes"]))


def _section(
    folder: Path, name: str, finding: Finding | None, paper: PaperResult | None, judgements: Sequence[Judgement]
) -> Iterator[Block]:
    analysis = ANALYSES[name]
    yield Heading(analysis.title)
    yield Paragraph(analysis.about)
    if finding is None:
        yield Paragraph("This analysis was not run.")
        return
    picture = folder / f"{name}.svg"
    if picture.exists():
        yield Picture(picture, f"{analysis.title}; the table below has the numbers.")
    table = analysis.table(finding.result)
    yield with_paper_columns(table, analysis.table(paper.result), paper.data_set) if paper else table
    if finding.note:
        yield Paragraph(finding.note)
    if command := command_of(folder, finding):
        yield Paragraph(f"Measured with {measured_with(finding.setup)} by:")
        yield Command(command)
    if judgements:
        yield Bullets(tuple(f"{judgement.claim.says} {judgement.sentence}" for judgement in judgements))


def _setup_differences(section: Setup, introduction: Setup) -> str:
    """Sentence on how the setup of a section differs from that in the introduction; empty if it does not."""
    parts = (
        f"on {section.sentences:,} sentences" if section.sentences != introduction.sentences else "",
        f"on {section.device}" if section.device != introduction.device else "",
        f"in {section.compute_type}" if section.compute_type != introduction.compute_type else "",
    )
    differences = ", ".join(filter(None, parts))
    return f"This section was computed {differences}." if differences else ""


def _scores(folder: Path) -> Iterator[Block]:
    """Section with the scores of teacher and student on every test set of a recipe."""
    path = folder / SCORES_FILE
    if not path.exists():
        return
    scores: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    splits = list(dict.fromkeys(score["split"] for score in scores))
    by_system: dict[str, dict[str, float]] = {}
    for score in scores:
        settings = ", ".join(f"{name} {value}" for name, value in score["settings"].items())
        name = f"{score['system']}, {settings}"
        by_system.setdefault(name, {})[score["split"]] = score["bleu"]
        for normalization, other in score.get("also", {}).items():
            by_system.setdefault(f"{name}, {normalization}", {})[score["split"]] = other["bleu"]
    yield Heading("All test sets")
    yield Paragraph("BLEU of teacher and student on every test set of the recipe.")
    columns = (Column("system"), *(Column(split.removeprefix("test.")) for split in splits))
    yield ResultTable(
        columns, tuple((name, *(Cell(bleu.get(split)) for split in splits)) for name, bleu in by_system.items())
    )
