"""`maskpredict report`: the reports of finished analyses again, and one page on all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maskpredict.extras import require


def report(
    results: Annotated[Path, typer.Argument(help="Folder of results, or folder of such folders.")],
    title: Annotated[str, typer.Option(help="Title of the report; by default it stays.")] = "",
) -> None:
    """Judge the paper's claims again from the numbers in a folder, and compare all directions on one page."""
    require("train", "`maskpredict report`", ["matplotlib", "sacrebleu", "torch"])
    from maskpredict.paper.report.overview import OVERVIEW_FILES, write_overview
    from maskpredict.paper.report.write import HTML_FILE, read_findings, title_of, write_report

    if results.is_dir() and not read_findings(results):
        names = write_overview(results)
        typer.echo(f"{results / OVERVIEW_FILES[1]} compares {', '.join(names)}.", err=True)
        return
    write_report(results, title or title_of(results))
    typer.echo(f"The report is {results / HTML_FILE}.", err=True)
