"""Damaged and hostile documents are refused in one sentence."""

from __future__ import annotations

import io
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from maskpredict.documents.formats import read_document
from maskpredict.errors import UserError
from tests.documents.office_files import archive, word_file
from tests.documents.translating import translated

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
ENTITIES = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    f"<w:document {WORD}><w:body><w:p><w:r><w:t>&b;&f;</w:t></w:r></w:p></w:body></w:document>"
)
XLIFF_WITH_ENTITY = (
    '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><xliff version="1.2" '
    'xmlns="urn:oasis:names:tc:xliff:document:1.2"><file><body><trans-unit><source>&f;</source></trans-unit></body></file></xliff>'
)


def refusal(name: str, content: bytes) -> str:
    with pytest.raises(UserError) as error:
        read_document(name, content)
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("name", ["a.docx", "a.odt", "a.pptx", "a.xlsx", "a.epub"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no archive", word_file()[:2_000]])
def test_a_broken_archive_is_refused(name: str, content: bytes) -> None:
    assert "damaged" in refusal(name, content)


def test_a_damaged_file_inside_is_refused() -> None:
    assert "damaged" in refusal("a.docx", archive({"word/document.xml": b"<w:document><w:p>"}))
    content = bytearray(word_file())
    content[2_000] ^= 0xFF
    assert "damaged" in refusal("a.docx", bytes(content))


def test_an_archive_whose_table_points_nowhere_is_refused() -> None:
    content = bytearray(word_file())
    place = content.rindex(b"PK\x05\x06")
    content[place + 16 : place + 20] = b"\xff\xff\xff\x7f"  # where the table of contents begins
    assert "damaged" in refusal("a.docx", bytes(content))
    assert "damaged" in refusal("a.docx", bytes(content[: place + 22]).replace(b"PK\x01\x02", b"PK\x01\x02", 1)[40:])


def test_the_reasons_of_the_xml_reader_are_in_the_sentence_without_its_line_breaks() -> None:
    assert "Char 0x0" in refusal("a.xliff", b"<a\x00/>")


def test_a_zip_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = archive({"mimetype": b"", "word/document.xml": b" " * 60_000_000})
    assert len(bomb) < 100_000
    start = time.process_time()
    assert "too large" in refusal("a.docx", bomb)
    assert time.process_time() - start < 3


def test_an_archive_that_lies_about_its_sizes_is_refused() -> None:
    content = bytearray(archive({"x": b"", "word/document.xml": b" " * 1_000_000}))
    for place in range(len(content) - 4):
        if content[place : place + 4] == (1_000_000).to_bytes(4, "little"):
            content[place : place + 4] = (10).to_bytes(4, "little")
    assert "damaged" in refusal("a.docx", bytes(content))


def test_an_archive_with_two_files_of_one_name_is_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as package:
        package.writestr("a", "1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            package.writestr("a", "2")
    assert "two files of one name" in refusal("a.docx", buffer.getvalue())


def test_entities_are_not_expanded() -> None:
    assert "entities" in refusal("a.docx", archive({"word/document.xml": ENTITIES.encode()}))
    assert "entities" in refusal("a.xliff", XLIFF_WITH_ENTITY.encode())


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.srt", "a.po", "a.json", "a.yaml"])
def test_a_file_in_another_encoding_is_refused(name: str) -> None:
    assert "UTF-8" in refusal(name, "Schöne Grüße".encode("latin-1"))


def test_an_unknown_encoding_is_refused() -> None:
    assert "not text in no-such" in refusal("a.html", b'<meta charset="no-such"><p>x')


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.json", b"{"), ("a.json", b"[" * 100_000), ("a.yaml", b"a: [b"), ("a.yaml", b"*x"), ("a.po", b"text")],
)
def test_files_that_are_not_what_they_say_are_refused(name: str, content: bytes) -> None:
    refusal(name, content)


def test_a_catalogue_that_names_a_file_does_not_open_it(tmp_path: Path) -> None:
    secret = tmp_path / "secret.po"
    secret.write_text('msgid "Geheim"\nmsgstr ""\n')
    assert "Geheim" not in refusal("a.po", str(secret).encode())


def test_a_format_that_is_not_known_is_refused() -> None:
    assert ".docx" in refusal("a.pdf", b"%PDF")
    assert "without an ending" in refusal("letter", b"x")


@pytest.mark.parametrize(
    ("name", "unit"),
    [("a.md", "*"), ("a.md", "["), ("a.md", "> "), ("a.md", "`a"), ("a.srt", "1\n-->\nx\n\n"), ("a.srt", "<i>"),
     ("a.vtt", "-->\n"),
     ("a.json", '"'), ("a.yaml", "- a\n"), ("a.html", "<b>a "), ("a.po", 'msgid "a"\n')],
)  # fmt: skip
def test_no_document_takes_long(name: str, unit: str) -> None:
    content = (unit * (50_000 // len(unit))).encode()
    start = time.process_time()
    with suppress(UserError):
        translated(name, content)
    assert time.process_time() - start < 10


def test_deeply_nested_fields_take_no_time() -> None:
    field = '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
    xml = f"<w:document {WORD}><w:body><w:p>{field * 20_000}<w:r><w:t>Ein Hund.</w:t></w:r></w:p></w:body></w:document>"
    content = archive({"x": b"", "word/document.xml": xml.encode()})
    start = time.process_time()
    translated("a.docx", content)
    assert time.process_time() - start < 5
