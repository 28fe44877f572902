"""Documents are translated by upload and download; broken ones are refused, and the server goes on."""

from __future__ import annotations

import io
from collections.abc import Callable

import docx
import httpx
import pytest

from tests.documents.office_files import archive, word_file

PAIR = {"source": "xx", "target": "yy"}


def upload(client: httpx.Client, name: str, content: bytes) -> httpx.Response:
    return client.post("/translate_file", files={"file": (name, content)}, data=PAIR)


def test_a_word_file_comes_back_translated(client: httpx.Client, translated: Callable[[str], str]) -> None:
    document = docx.Document()
    document.add_heading("luri tisa.", 1)
    document.add_paragraph("bane ").add_run("kori.").bold = True
    buffer = io.BytesIO()
    document.save(buffer)
    fetched = httpx.get(upload(client, "Letter.DOCX", buffer.getvalue()).json()["translatedFileUrl"])
    assert 'filename="translation.docx"' in fetched.headers["content-disposition"]
    heading, paragraph = docx.Document(io.BytesIO(fetched.content)).paragraphs
    assert (heading.text, heading.style and heading.style.name) == (translated("luri tisa."), "Heading 1")
    assert paragraph.text == translated("bane kori.")
    assert any(run.bold for run in paragraph.runs)


def test_a_page_comes_back_with_its_tags(client: httpx.Client, translated: Callable[[str], str]) -> None:
    fetched = httpx.get(upload(client, "a.html", b"<p>luri tisa.<br>12</p>").json()["translatedFileUrl"])
    assert fetched.text == f"<p>{translated('luri tisa.')}<br>12</p>"
    assert "attachment" in fetched.headers["content-disposition"]


def test_a_document_in_the_target_language_comes_back_as_it_is(client: httpx.Client) -> None:
    data = {"source": "yy", "target": "yy"}
    answer = client.post("/translate_file", files={"file": ("a.docx", word_file())}, data=data)
    assert len(httpx.get(answer.json()["translatedFileUrl"]).content) > 1_000


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (word_file()[:3_000], "damaged"),
        (archive({"mimetype": b"", "word/document.xml": b" " * 60_000_000}), "too large"),
        (archive({"word/document.xml": b'<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'}), "entities"),
    ],
)
def test_hostile_documents_are_refused_and_the_server_goes_on(
    client: httpx.Client, content: bytes, sentence: str, translated: Callable[[str], str]
) -> None:
    refused = upload(client, "a.docx", content)
    assert refused.status_code == 400
    assert sentence in refused.json()["error"]
    assert client.post("/translate", json={"q": "bane.", **PAIR}).json()["translatedText"] == translated("bane.")


@pytest.mark.parametrize("unit", ["<a ", "x<", "<!--", "</", "<b>x</b> "])
def test_hostile_html_is_answered(client: httpx.Client, unit: str) -> None:
    answer = client.post("/translate", json={"q": unit * (5_000 // len(unit)), "format": "html", **PAIR})
    assert answer.status_code == 200


def test_tags_inside_a_sentence_are_kept(client: httpx.Client) -> None:
    markup = '<p>luri <a href="?a=1&b=2">tisa</a> <b>bane</b> kori.</p>'
    text = client.post("/translate", json={"q": markup, "format": "html", **PAIR}).json()["translatedText"]
    assert text.count('<a href="?a=1&b=2">') == text.count("</a>") == text.count("<b>") == text.count("</b>") == 1
