"""Documents are translated by upload and download; broken ones are refused, and the server goes on."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import docx
import httpx
import pytest

from maskpredict.serve.queue.documents import FIRST_SENTENCES
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


def events(answer: httpx.Response) -> list[tuple[str, Any]]:
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    parts = [block.split("\n") for block in answer.text.removesuffix("\n\n").split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in parts]


def test_progress_and_sentences_arrive_while_a_document_is_translated(
    client: httpx.Client, translated: Callable[[str], str]
) -> None:
    lines = [f"luri{' tisa' * length}." for length in range(FIRST_SENTENCES + 2)]
    file = ("a.txt", "\n".join(lines).encode())
    found = events(client.post("/v1/documents", files={"file": file}, data={**PAIR, "source": "auto"}))
    assert [name for name, _ in found] == ["progress", "progress", "progress", "done"]
    count = len(lines)
    assert [(one["done"], one["sentences"]) for _, one in found[:3]] == [
        (0, count),
        (FIRST_SENTENCES, count),
        (count,) * 2,
    ]
    pairs = [(pair["source"], pair["text"]) for _, one in found[:3] for pair in one["translated"]]
    assert pairs == [(line, translated(line)) for line in lines]
    fetched = httpx.get(found[3][1]["translatedFileUrl"])
    assert fetched.text == "\n".join(text for _, text in pairs)


def test_documents_are_translated_with_terms(client: httpx.Client) -> None:
    terms = [{"source": "luri", "target": "EKUL"}]
    kept = client.post("/v1/glossaries", json={"source": "xx", "target": "yy", "terms": terms}).json()["id"]
    for data in ({"terms": json.dumps(terms)}, {"glossary_id": kept}):
        answer = client.post("/v1/documents", files={"file": ("a.md", b"**luri** tisa.")}, data={**PAIR, **data})
        assert "EKUL" in httpx.get(events(answer)[-1][1]["translatedFileUrl"]).text


@pytest.mark.parametrize(
    ("name", "data", "status", "sentence"),
    [
        ("a.docx", {}, 400, "damaged"),
        ("a.exe", {}, 400, "file format not supported"),
        ("a.md", {"terms": "[{}]"}, 400, "Invalid request"),
        ("a.md", {"terms": "x"}, 400, "JSON"),
        ("a.md", {"glossary_id": "x"}, 404, "no glossary"),
        ("a.md", {"target": "qq"}, 400, "qq is not supported"),
    ],
)
def test_mistakes_are_noticed_before_the_progress_begins(
    client: httpx.Client, name: str, data: dict[str, str], status: int, sentence: str
) -> None:
    refused = client.post("/v1/documents", files={"file": (name, b"luri.")}, data={**PAIR, **data})
    assert (refused.status_code, sentence in refused.json()["error"]) == (status, True)


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
    assert answer.status_code == 200, answer.text


def test_tags_inside_a_sentence_are_kept(client: httpx.Client) -> None:
    markup = '<p>luri <a href="?a=1&b=2">tisa</a> <b>bane</b> kori.</p>'
    text = client.post("/translate", json={"q": markup, "format": "html", **PAIR}).json()["translatedText"]
    assert text.count('<a href="?a=1&b=2">') == text.count("</a>") == text.count("<b>") == text.count("</b>") == 1
