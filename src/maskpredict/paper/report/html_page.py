"""A page as one self-contained HTML file, with its figures embedded."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from maskpredict.paper.report.page import Block, Bullets, Command, Heading, Paragraph, Picture
from maskpredict.paper.table import RenderedTable, ResultTable, render

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1f2328; background: #fff; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem; }
h1, h2 { line-height: 1.25; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #d0d7de; padding-bottom: .3rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; } th, td { padding: .3rem .7rem; border-bottom: 1px solid #d8dee4;
  text-align: left; vertical-align: top; } th { border-bottom: 2px solid #afb8c1; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
pre { font-size: .85rem; background: #f6f8fa; padding: .6rem .8rem; white-space: pre-wrap; }
.note { color: #59636e; font-size: .85rem; margin: .3rem 0; } img { max-width: 100%; height: auto; }
"""


def html_page(blocks: Sequence[Block]) -> str:
    """HTML text of the page."""
    title = next((block.text for block in blocks if isinstance(block, Heading)), "Report")
    body = "\n".join(map(_block, blocks))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _block(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{escape(text)}</p>"
        case Bullets(items):
            return "<ul>\n" + "\n".join(f"<li>{escape(item)}</li>" for item in items) + "\n</ul>"
        case Picture(path, alt):
            data = base64.b64encode(path.read_bytes()).decode()
            return f'<p><img alt="{escape(alt)}" src="data:image/svg+xml;base64,{data}"></p>'
        case Command(text):
            return f"<pre>{escape(text)}</pre>"
        case ResultTable():
            return _table(render(block))


def _table(text: RenderedTable) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        classes = [' class="number"' if numeric else "" for numeric in text.numeric]
        inner = "".join(f"<{tag}{css}>{escape(cell)}</{tag}>" for css, cell in zip(classes, cells, strict=True))
        return f"<tr>{inner}</tr>"

    rows = "\n".join(row(cells, "td") for cells in text.rows)
    notes = "".join(f'\n<p class="note">({number}) {escape(note)}</p>' for number, note in enumerate(text.notes, 1))
    body = f"<thead>{row(text.head, 'th')}</thead>\n<tbody>\n{rows}\n</tbody>"
    return f'<div class="wide"><table>\n{body}\n</table></div>{notes}'
