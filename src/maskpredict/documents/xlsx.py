"""Excel workbooks: texts of cells, with the formats inside them; numbers, formulas and names stay.

The headings of a table are names, too: formulas use them, and Excel refuses a file in which they differ."""

from __future__ import annotations

from fnmatch import fnmatchcase

from maskpredict.documents.document import Document
from maskpredict.documents.package import Element, Package, XmlFile, parsed, read_archive
from maskpredict.documents.runs import RunMarkup, RunParagraph

_X = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_MARKUP = RunMarkup(
    paragraph=f"{_X}si",
    run=f"{_X}r",
    properties=f"{_X}rPr",
    text=f"{_X}t",
    dropped=frozenset({f"{_X}rPh", f"{_X}phoneticPr"}),
)


def read(content: bytes) -> Document[bytes]:
    """Read an .xlsx file."""
    names = _table_headings(content)

    def strings(root: Element) -> list[RunParagraph]:
        elements = (element for element in root.iter(f"{_X}si", f"{_X}is") if "".join(element.itertext()) not in names)
        return [RunParagraph(element, _MARKUP) for element in elements]

    def read_part(part: bytes) -> Document[bytes]:
        return XmlFile(part, strings)

    return Package(content, {"xl/sharedStrings*.xml": read_part, "xl/worksheets/sheet*.xml": read_part})


def _table_headings(content: bytes) -> set[str]:
    tables = (data for info, data in read_archive(content) if fnmatchcase(info.filename, "xl/tables/*.xml"))
    return {column.get("name", "") for data in tables for column in parsed(data).iter(f"{_X}tableColumn")}
