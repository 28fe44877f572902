"""Blocks of a page, the common input of the Markdown and HTML writers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from maskpredict.paper.table import ResultTable


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A bulleted list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    """A figure: an SVG file in the folder of the page."""

    path: Path
    alt: str


@dataclass(frozen=True)
class Command:
    """A command line to copy."""

    text: str


Block = Heading | Paragraph | Bullets | Picture | Command | ResultTable
