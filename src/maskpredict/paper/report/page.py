"""A page as a list of blocks, from which Markdown and HTML are written alike."""

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
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    """An SVG file beside the page."""

    path: Path
    alt: str


Block = Heading | Paragraph | Bullets | Picture | ResultTable
