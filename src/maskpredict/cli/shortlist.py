"""`maskpredict shortlist`: learn which target words a source may become, so that fewer are scored on a CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def shortlist(
    model: Annotated[str, typer.Argument(help="Model folder, or name of a model.", show_default=False)],
    data: Annotated[
        Path, typer.Argument(help="Data folder that it was trained on, in either direction.", show_default=False)
    ],
    translations: Annotated[int, typer.Option(help="Target subwords to keep of each source subword.")] = 200,
    frequent: Annotated[int, typer.Option(help="Target subwords that any translation may have.")] = 100,
) -> None:
    """Add a vocabulary shortlist to a model folder: less to compute for each word, on CPUs."""
    from maskpredict.progress import Progress
    from maskpredict.runtime.find_model import find_model
    from maskpredict.training.shortlist import add_shortlist

    folder = find_model(model)
    with Progress() as progress:
        report = add_shortlist(folder, data, progress, translations=translations, frequent=frequent)
    typer.echo(
        f"{folder} now scores {report.candidates:,.0f} of {report.vocabulary:,} subwords for a validation sentence, "
        f"on average; {report.coverage:.2%} of its reference's are among them.",
        err=True,
    )
