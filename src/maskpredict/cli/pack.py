"""`maskpredict pack` and `unpack`: a folder as checksummed parts of a fixed size."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from maskpredict.errors import UserError

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


class Precision(StrEnum):
    """Precision of packed weights."""

    float32 = "float32"
    float16 = "float16"


def pack(
    folder: Annotated[
        Path, typer.Argument(help="Folder to pack, such as a data, run or model folder.", show_default=False)
    ],
    out: Annotated[Path, typer.Argument(help="New folder for the parts.", show_default=False)],
    part_size: Annotated[str, typer.Option(help="Maximum size of a part.")] = "16MiB",
    precision: Annotated[
        Precision, typer.Option(help="float32 stores weights unchanged, float16 rounds them.")
    ] = Precision.float32,
    without_optimizer: Annotated[
        bool, typer.Option("--without-optimizer", help="Leave out the optimizer state; a continued run warms up again.")
    ] = False,
) -> None:
    """Split a folder into checksummed parts of a fixed size."""
    from maskpredict.packing import pack as run
    from maskpredict.progress import Progress

    with Progress() as progress:
        manifest = run(
            folder,
            out,
            part_size=_bytes(part_size),
            precision=precision.value,
            without_optimizer=without_optimizer,
            progress=progress,
        )
    typer.echo(f"{len(manifest.parts)} parts and a manifest, {manifest.packed_size:,} bytes, are in {out}.", err=True)


def unpack(
    parts: Annotated[Path, typer.Argument(help="Folder with the parts and their manifest.", show_default=False)],
    out: Annotated[Path, typer.Argument(help="New folder.", show_default=False)],
) -> None:
    """Restore a packed folder and verify its checksums."""
    from maskpredict.packing import unpack as run
    from maskpredict.progress import Progress

    with Progress() as progress:
        manifest = run(parts, out, progress=progress)
    typer.echo(f"{out} has its {len(manifest.members)} files.", err=True)


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([a-zA-Z]*)", text.strip())
    if not match or match[2].upper() not in _UNITS:
        raise UserError(f"--part-size is {text!r}; write it like 16MiB, 20MB or 1000000.")
    return int(match[1]) * _UNITS[match[2].upper()]
