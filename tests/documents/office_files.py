"""Small documents of office programs, made by the libraries that others use."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import docx
import openpyxl
import pptx
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph
from openpyxl.worksheet.table import Table


def word_file() -> bytes:
    """A heading, formats inside a sentence, a link, a field, a list, a table, a header and a line break."""
    document = docx.Document()
    document.add_heading("Ein kleiner Bericht", 1)
    paragraph = document.add_paragraph("Der ")
    paragraph.add_run("schwarze Hund").bold = True
    paragraph.add_run(" schläft im ")
    paragraph.add_run("Garten").italic = True
    paragraph.add_run(". Die Katze ist zu Hause.")
    _add_link(document.add_paragraph("Mehr steht "), "https://example.org", "auf dieser Seite")
    _add_page_number(document.add_paragraph("Das ist Seite "))
    document.add_paragraph("Erster Punkt", style="List Bullet")
    document.add_paragraph("Zeile eins").add_run().add_break()
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Guten Morgen!", "12,5"
    document.sections[0].header.paragraphs[0].text = "Kopfzeile"
    return _saved(document)


def _add_link(paragraph: Paragraph, address: str, text: str) -> None:
    number = paragraph.part.relate_to(address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
    link: Any = OxmlElement("w:hyperlink")
    link.set(qn("r:id"), number)
    link.append(paragraph.add_run(text)._r)
    paragraph._p.append(link)
    paragraph.add_run(".")


def _add_page_number(paragraph: Paragraph) -> None:
    for kind in ("begin", "instruction", "separate", "text", "end"):
        run = paragraph.add_run("1" if kind == "text" else None)
        if kind == "instruction":
            instruction: Any = OxmlElement("w:instrText")
            instruction.text = "PAGE"
            run._r.append(instruction)
        elif kind != "text":
            mark: Any = OxmlElement("w:fldChar")
            mark.set(qn("w:fldCharType"), kind)
            run._r.append(mark)
    paragraph.add_run(" von vielen.")


def presentation() -> bytes:
    """One slide with a title, formats inside a sentence, and notes."""
    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[1])
    slide.shapes.title.text = "Unser Plan"
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    for text, bold in (("Wir gehen ", False), ("morgen", True), (" schwimmen.", False)):
        run = paragraph.add_run()
        run.text, run.font.bold = text, bold
    slide.notes_slide.notes_text_frame.text = "Langsam sprechen."
    return _saved(slides)


def workbook() -> bytes:
    """Texts, a number, a formula, and a table whose headings are names."""
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["Ware", "Preis"], ["Ein roter Apfel", 3], ["Das Brot", "=B2*2"]):
        sheet.append(row)
    sheet.add_table(Table(displayName="Preise", ref="A1:B3"))
    return _saved(book)


def _saved(document: Any) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


ODT_NAMESPACES = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" '
    'xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" '
    'xmlns:xlink="http://www.w3.org/1999/xlink" office:version="1.2"'
)


def odt_file() -> bytes:
    """A heading, formats inside a sentence, a link and a footnote."""
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {ODT_NAMESPACES}><office:automatic-styles>'
        '<style:style style:name="B" style:family="text"><style:text-properties fo:font-weight="bold"/></style:style>'
        "</office:automatic-styles><office:body><office:text>"
        '<text:h text:outline-level="1">Ein kleiner Bericht</text:h>'
        '<text:p>Der <text:span text:style-name="B">schwarze Hund</text:span> schläft'
        '<text:note text:id="n1" text:note-class="footnote"><text:note-citation>1</text:note-citation>'
        "<text:note-body><text:p>Er ist sehr müde.</text:p></text:note-body></text:note>"
        ' im <text:a xlink:type="simple" xlink:href="https://example.org">Garten</text:a>.</text:p>'
        "<text:p>Zeile eins<text:line-break/>Zeile zwei</text:p>"
        "</office:text></office:body></office:document-content>"
    )
    manifest = (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.2">'
        '<manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.text"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'
    )
    return archive(
        {
            "mimetype": b"application/vnd.oasis.opendocument.text",
            "content.xml": content.encode(),
            "META-INF/manifest.xml": manifest.encode(),
        }
    )


def archive(files: Mapping[str, bytes]) -> bytes:
    """A zip archive; its first file is not compressed, as OpenDocument and EPUB want it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for number, (name, content) in enumerate(files.items()):
            target.writestr(name, content, zipfile.ZIP_DEFLATED if number else zipfile.ZIP_STORED)
    return buffer.getvalue()
