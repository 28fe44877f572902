"""A page as Markdown that links to its figures."""

from __future__ import annotations

from collections.abc import Sequence

from maskpredict.paper.report.page import Block, Bullets, Command, Heading, Paragraph, Picture
from maskpredict.paper.table import ResultTable, markdown


def markdown_page(blocks: Sequence[Block]) -> str:
    """Markdown text of the page."""
    return "\n\n".join(map(_block, blocks)) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Bullets(items):
            return "\n".join(f"- {item}" for item in items)
        case Picture(path, alt):
            return f"![{alt}]({path.name})"
        case Command(text):
            return f"```text\n{text}\n```"
        case ResultTable():
            return markdown(block)
