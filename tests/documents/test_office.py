"""Office documents are translated with their structure, formats, links and fields."""

from __future__ import annotations

import io
import zipfile

import docx
import openpyxl
import pptx
import pytest
from lxml import etree

from tests.documents.office_files import archive, odt_file, presentation, word_file, workbook
from tests.documents.translating import sentences, translated

FILES = {"a.docx": word_file, "a.pptx": presentation, "a.xlsx": workbook, "a.odt": odt_file}


def files_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        return {name: package.read(name) for name in package.namelist()}


def test_a_word_file_keeps_formats_and_links_and_fields() -> None:
    document = docx.Document(io.BytesIO(translated("a.docx", word_file())))
    paragraphs = document.paragraphs
    assert [p.text for p in paragraphs] == [
        "EIN KLEINER BERICHT",
        "DER SCHWARZE HUND SCHLÄFT IM GARTEN. DIE KATZE IST ZU HAUSE.",
        "MEHR STEHT AUF DIESER SEITE.",
        "DAS IST SEITE 1 VON VIELEN.",
        "ERSTER PUNKT",
        "ZEILE EINS\n",
    ]
    assert [run.text for run in paragraphs[1].runs if run.bold] == ["SCHWARZE HUND"]
    assert [run.text for run in paragraphs[1].runs if run.italic] == ["GARTEN"]
    (link,) = paragraphs[2].hyperlinks
    assert (link.text, link.address) == ("AUF DIESER SEITE", "https://example.org")
    assert [p.style.name for p in paragraphs if p.style][0:5:4] == ["Heading 1", "List Bullet"]
    assert [cell.text for cell in document.tables[0].rows[0].cells] == ["GUTEN MORGEN!", "12,5"]
    assert document.sections[0].header.paragraphs[0].text == "KOPFZEILE"


def test_a_field_begins_before_its_result_and_ends_after_it() -> None:
    root = etree.fromstring(files_of(translated("a.docx", word_file()))["word/document.xml"])
    word = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
    kinds = [mark.get(f"{word}fldCharType") or mark.text for mark in root.iter(f"{word}fldChar", f"{word}instrText")]
    assert kinds == ["begin", "PAGE", "separate", "end"]


def test_a_text_box_inside_a_paragraph_is_translated_too() -> None:
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    xml = (
        f"<w:document {word}><w:body><w:p><w:r><w:t>Ein </w:t></w:r><w:r><w:pict><w:txbxContent><w:p><w:r><w:t>Kasten"
        "</w:t></w:r></w:p></w:txbxContent></w:pict></w:r><w:r><w:t>Bild.</w:t></w:r></w:p></w:body></w:document>"
    )
    changed = files_of(translated("a.docx", archive({"word/document.xml": xml.encode()})))["word/document.xml"]
    assert "".join(etree.fromstring(changed).itertext()) == "EIN KASTENBILD."
    assert changed.count(b"txbxContent>") == 2


def test_a_presentation_keeps_formats_and_notes() -> None:
    slide = pptx.Presentation(io.BytesIO(translated("a.pptx", presentation()))).slides[0]
    assert slide.shapes.title.text == "UNSER PLAN"
    runs = slide.placeholders[1].text_frame.paragraphs[0].runs
    assert [(run.text, run.font.bold) for run in runs] == [
        ("WIR GEHEN ", False),
        ("MORGEN", True),
        (" SCHWIMMEN.", False),
    ]
    assert slide.notes_slide.notes_text_frame.text == "LANGSAM SPRECHEN."


def test_a_workbook_keeps_numbers_formulas_and_the_names_of_columns() -> None:
    sheet = openpyxl.load_workbook(io.BytesIO(translated("a.xlsx", workbook()))).active
    assert [[cell.value for cell in row] for row in sheet.iter_rows()] == [
        ["Ware", "Preis"], ["EIN ROTER APFEL", 3], ["DAS BROT", "=B2*2"]
    ]  # fmt: skip


def test_an_opendocument_text_keeps_formats_links_and_footnotes() -> None:
    content = files_of(translated("a.odt", odt_file()))["content.xml"].decode()
    assert '<text:span text:style-name="B">SCHWARZE HUND</text:span> SCHLÄFT<text:note' in content
    assert "<text:p>ER IST SEHR MÜDE.</text:p>" in content
    assert '<text:a xlink:type="simple" xlink:href="https://example.org">GARTEN</text:a>.</text:p>' in content
    assert "<text:p>ZEILE EINS<text:line-break/>ZEILE ZWEI</text:p>" in content


def test_a_sentence_goes_on_around_a_footnote() -> None:
    assert sentences("a.odt", odt_file())[:3] == [
        "Ein kleiner Bericht", "Der schwarze Hund schläft im Garten.", "Er ist sehr müde."
    ]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_what_is_not_translated_stays_as_it_is(name: str) -> None:
    content = FILES[name]()
    before, after = files_of(content), files_of(translated(name, content, str))
    assert list(before) == list(after)
    assert before == after


def test_the_first_file_of_an_opendocument_text_stays_uncompressed() -> None:
    with zipfile.ZipFile(io.BytesIO(translated("a.odt", odt_file()))) as package:
        first = package.infolist()[0]
    assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)


def test_formats_with_strange_namespaces_are_compared_all_the_same() -> None:
    content = word_file()
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        files = {info.filename: package.read(info) for info in package.infolist()}
    strange = b'<w:rPr xmlns:x="relative/name" x:a="1">'
    files["word/document.xml"] = files["word/document.xml"].replace(b"<w:rPr>", strange)
    with zipfile.ZipFile(io.BytesIO(translated("a.docx", archive(files)))) as package:
        assert b"SCHWARZE HUND" in package.read("word/document.xml")
