"""`write_overview`: one page with the verdicts and the main table of every direction side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from maskpredict.errors import UserError
from maskpredict.paper.analyses.main_table import MainTable
from maskpredict.paper.cell import Cell
from maskpredict.paper.finding import Setup
from maskpredict.paper.report.claims import CLAIMS
from maskpredict.paper.report.claims_table import Origin, claims_table, deciding, origin_of, tally
from maskpredict.paper.report.html_page import html_page
from maskpredict.paper.report.markdown_page import markdown_page
from maskpredict.paper.report.page import Block, Bullets, Heading, Paragraph
from maskpredict.paper.report.provenance import can_be_repeated, measured_with
from maskpredict.paper.report.published_numbers import DATA_SETS, direction_of
from maskpredict.paper.report.verdicts import Verdict, amount, range_text
from maskpredict.paper.report.write import judgements_on, read_findings
from maskpredict.paper.table import Column, ResultTable

GONE = "†"
"""Mark of numbers of models that are not recorded."""
OVERVIEW_FILES = ("overview.md", "overview.html")
MARKS = {
    Verdict.holds: "✓",
    Verdict.weaker: "✓ weaker",
    Verdict.undecided: "?",
    Verdict.fails: "✗",
    Verdict.no_interval: "no interval",
    Verdict.unknown: "–",
}


def write_overview(results: Path) -> list[str]:
    """Write the overview of all folders of results in `results`; returns their names."""
    folders = {folder.name: folder for folder in sorted(results.iterdir()) if folder.is_dir() and read_findings(folder)}
    if not folders:
        raise UserError(f"{results} holds no folder with results; run `maskpredict analyze` first.")
    blocks = list(_blocks(folders))
    for name, text in zip(OVERVIEW_FILES, (markdown_page(blocks), html_page(blocks)), strict=True):
        partial = results / f"{name}.partial"
        partial.write_text(text, encoding="utf-8")
        partial.replace(results / name)
    return list(folders)


def _blocks(folders: Mapping[str, Path]) -> Iterator[Block]:
    setups = {name: next(iter(read_findings(folder).values())).setup for name, folder in folders.items()}
    origins = {name: _origins(folder) for name, folder in folders.items()}
    yield Heading("All directions at a glance", 1)
    yield Paragraph(
        "What the results say of the paper's claims, with the number and its interval of 95%. "
        + ", ".join(f"{mark}: {verdict}" for verdict, mark in MARKS.items() if mark != verdict)
        + ". Where several folders have a number, the one with a paired interval counts, then the one whose weights "
        f"are recorded. Weights of numbers marked {GONE} are not recorded, so that nobody can measure these again."
    )
    yield Bullets(tuple(_described(name, setup, origins[name]) for name, setup in setups.items()))
    if missing := _missing(setups.values()):
        yield Paragraph(f"Without results so far: {', '.join(missing)}.")
    by_direction = _by_direction(setups, origins)
    yield Heading("The paper's claims")
    yield _claims_table(by_direction)
    for direction, deciders in by_direction.items():
        yield Heading(f"The claims, {direction}")
        yield Paragraph(tally(origin.judgement for origin in deciders))
        yield claims_table(deciders)
    yield Heading("Translation quality")
    yield Paragraph("BLEU of each system on the test set of its folder; compare within a column alone.")
    yield _main_table(folders)


def _origins(folder: Path) -> list[Origin]:
    findings = read_findings(folder)
    return [origin_of(folder, judgement, findings) for judgement in judgements_on(folder)]


def _by_direction(setups: Mapping[str, Setup], origins: Mapping[str, Sequence[Origin]]) -> dict[str, list[Origin]]:
    """For each direction, the judgement on each claim that counts."""
    folders: dict[str, list[Sequence[Origin]]] = {}
    for name, setup in setups.items():
        folders.setdefault(_direction(setup), []).append(origins[name])
    return {
        direction: [deciding(same_claim) for same_claim in zip(*several, strict=True)]
        for direction, several in folders.items()
    }


def _direction(setup: Setup) -> str:
    return f"{setup.source_language} to {setup.target_language}"


def _described(name: str, setup: Setup, origins: Sequence[Origin]) -> str:
    seeds = max(origin.judgement.seeds for origin in origins)
    trained = f"; seeds: {seeds}" if seeds else ""
    return f"{name}: {_direction(setup)}, {setup.split}, {measured_with(setup)}{trained}."


def _missing(setups: Iterable[Setup]) -> list[str]:
    """The paper's directions that no folder has."""
    known = {direction_of(setup.source_language, setup.target_language) for setup in setups}
    return [f"{source} to {target}" for source, target in DATA_SETS if (source, target) not in known]


def _claims_table(by_direction: Mapping[str, Sequence[Origin]]) -> ResultTable:
    columns = (Column("the paper says"), Column("measured"), *map(Column, by_direction))
    by_claim = zip(*by_direction.values(), strict=True)
    rows = (
        (claim.says, claim.number, *map(_verdict_text, judged)) for claim, judged in zip(CLAIMS, by_claim, strict=True)
    )
    return ResultTable(columns, tuple(rows))


def _verdict_text(origin: Origin) -> str:
    judgement = origin.judgement
    mark = MARKS[judgement.verdict]
    if judgement.ours is None or origin.setup is None:
        return mark
    interval = f" ({range_text(judgement.interval, judgement.claim.unit)})" if judgement.interval else ""
    gone = "" if can_be_repeated(origin.setup) else f" {GONE}"
    return f"{mark} {amount(judgement.ours, judgement.claim.unit)}{interval}{gone}"


def _main_table(folders: Mapping[str, Path]) -> ResultTable:
    bleu: dict[tuple[str, str], dict[str, Cell]] = {}
    for name, folder in folders.items():
        finding = read_findings(folder).get("main_table")
        if finding is not None and isinstance(finding.result, MainTable):
            for row in finding.result.rows:
                bleu.setdefault((row.system, row.passes), {})[name] = row.bleu
    columns = (Column("system"), Column("passes"), *map(Column, folders))
    rows: list[tuple[str | Cell, ...]] = [
        (*system, *(cells.get(name, Cell(reason="it was not run.")) for name in folders))
        for system, cells in bleu.items()
    ]
    return ResultTable(columns, tuple(rows))
