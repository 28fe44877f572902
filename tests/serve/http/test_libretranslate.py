"""LibreTranslate's API, also as used by a client from PyPI."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from maskpredict.runtime.translator import Translator

SENTENCE = "luri tisa kone."
LONG = "luri tisa kone bane luke fumo tine koke basa."
PAIR = {"source": "xx", "target": "yy"}


def test_a_client_from_pypi_translates_detects_and_lists_languages(
    server_url: str, translated: Callable[[str], str]
) -> None:
    api = LibreTranslateAPI(server_url)
    assert api.translate(SENTENCE, "xx", "yy") == translated(SENTENCE)
    assert {found["language"] for found in api.detect(SENTENCE)} == {"xx", "yy"}
    assert api.languages() == [
        {"code": "xx", "name": "xx", "targets": ["yy"]},
        {"code": "yy", "name": "yy", "targets": []},
    ]


@pytest.mark.parametrize("kind", ["json", "data", "files"])
def test_json_and_forms_are_understood_alike(client: httpx.Client, translated: Callable[[str], str], kind: str) -> None:
    body: dict[str, Any] = {"q": SENTENCE, **PAIR}
    if kind == "files":  # a multipart form
        body = {name: (None, value) for name, value in body.items()}
    answer = client.post("/translate", **{kind: body})  # type: ignore[arg-type]
    assert answer.status_code == 200
    assert answer.json() == {"translatedText": translated(SENTENCE)}


@pytest.mark.parametrize("kind", ["json", "data"])
def test_a_list_of_texts_gives_a_list(client: httpx.Client, translated: Callable[[str], str], kind: str) -> None:
    texts = [SENTENCE, "", "bane."]
    answer = client.post("/translate", **{kind: {"q": texts, **PAIR}})  # type: ignore[arg-type]
    assert answer.json() == {"translatedText": [translated(SENTENCE), "", translated("bane.")]}


def test_an_empty_list_gives_an_empty_list(client: httpx.Client) -> None:
    assert client.post("/translate", json={"q": [], **PAIR}).json() == {"translatedText": []}


@pytest.mark.parametrize("languages", [{"source": "qq", "target": "yy"}, {"source": "auto", "target": "qq"}])
def test_an_unknown_language_is_refused_even_for_an_empty_list(client: httpx.Client, languages: dict[str, str]) -> None:
    answer = client.post("/translate", json={"q": [], **languages})
    assert answer.status_code == 400
    assert answer.json()["error"] == "qq is not supported; the languages are xx, yy."


def test_lines_blank_lines_and_spaces_stay(client: httpx.Client, translated: Callable[[str], str]) -> None:
    text = "  luri tisa.\n\n\n\tbane.  \r\n123\n"
    answer = client.post("/translate", json={"q": text, **PAIR}).json()["translatedText"]
    assert answer == f"  {translated('luri tisa.')}\n\n\n\t{translated('bane.')}  \r\n123\n"


def test_html_keeps_its_tags(client: httpx.Client, translated: Callable[[str], str]) -> None:
    markup = '<p class="a" title="luri">luri tisa.<br>bane.</p><script>luri tisa.</script><b>luri tisa.'
    answer = client.post("/translate", json={"q": markup, "format": "html", **PAIR}).json()["translatedText"]
    assert answer == (
        f'<p class="a" title="luri">{translated("luri tisa.")}<br>{translated("bane.")}</p>'
        f"<script>luri tisa.</script><b>{translated('luri tisa.')}"
    )


def test_a_detected_language_is_reported(client: httpx.Client, translated: Callable[[str], str]) -> None:
    one = client.post("/translate", json={"q": SENTENCE, "source": "auto", "target": "yy"}).json()
    assert one == {
        "translatedText": translated(SENTENCE),
        "detectedLanguage": {"language": "xx", "confidence": 0},  # a language that nobody speaks
    }
    two = client.post("/translate", json={"q": [SENTENCE] * 2, "source": "auto", "target": "yy"}).json()
    assert two["detectedLanguage"] == [one["detectedLanguage"]] * 2


def test_a_text_in_the_target_language_comes_back_as_it_is(client: httpx.Client) -> None:
    answer = client.post("/translate", json={"q": "LURI.\n<b>", "source": "yy", "target": "yy", "format": "html"})
    assert answer.json() == {"translatedText": "LURI.\n<b>"}


def test_alternatives_differ_from_the_translation_and_from_each_other(client: httpx.Client) -> None:
    answer = client.post("/translate", json={"q": f"{LONG}\nbane luke.", "alternatives": 3, **PAIR}).json()
    texts = [answer["translatedText"], *answer["alternatives"]]
    assert len(set(texts)) == len(texts) == 4
    assert all(text.count("\n") == 1 for text in texts)
    several = client.post("/translate", json={"q": [LONG, LONG], "alternatives": 1, **PAIR}).json()
    assert [len(others) for others in several["alternatives"]] == [1, 1]


@pytest.mark.parametrize("alternatives", [True, "1"])
def test_numbers_are_numbers_in_json_and_text_in_forms(client: httpx.Client, alternatives: bool | str) -> None:
    answer = client.post("/translate", json={"q": LONG, "alternatives": alternatives, **PAIR})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("Invalid request: alternatives: ")
    form = client.post("/translate", data={"q": LONG, "alternatives": "1", **PAIR})
    assert len(form.json()["alternatives"]) == 1


def test_more_alternatives_than_default_length_candidates_are_possible(client: httpx.Client) -> None:
    answer = client.post("/translate", json={"q": LONG, "alternatives": 8, **PAIR}).json()
    assert 5 <= len(answer["alternatives"]) <= 8


def test_detect_answers_with_whole_numbers(client: httpx.Client) -> None:
    for answer in (client.post("/detect", json={"q": SENTENCE}), client.post("/detect", data={"q": SENTENCE})):
        assert answer.json() == [{"language": "xx", "confidence": 0}, {"language": "yy", "confidence": 0}]


def test_the_settings_of_a_page_are_there(client: httpx.Client) -> None:
    settings = client.get("/frontend/settings").json()
    assert settings["charLimit"] == 5_000
    assert settings["keyRequired"] is False
    assert settings["language"] == {"source": {"code": "xx", "name": "xx"}, "target": {"code": "yy", "name": "yy"}}
    assert {".txt", ".docx", ".html"} <= set(settings["supportedFilesFormat"])


def test_a_file_keeps_its_lines_and_paragraphs(client: httpx.Client, translated: Callable[[str], str]) -> None:
    content = b"luri tisa.\r\n\r\n  bane.\r\n"
    answer = client.post("/translate_file", files={"file": ("Notes.TXT", content)}, data=PAIR)
    address = answer.json()["translatedFileUrl"]
    fetched = httpx.get(address)
    assert fetched.text == f"{translated('luri tisa.')}\r\n\r\n  {translated('bane.')}\r\n"
    assert fetched.headers["content-type"] == "text/plain; charset=utf-8"
    assert "attachment" in fetched.headers["content-disposition"]
    assert len(address.rpartition("/")[2]) > 40  # nobody guesses it


@pytest.mark.parametrize("name", ["x.txt", "..%2f..%2fetc%2fpasswd", "A" * 43 + ".txt", "%00.txt"])
def test_only_translated_files_can_be_fetched(client: httpx.Client, name: str) -> None:
    assert client.get(f"/download_file/{name}").status_code == 404


@pytest.mark.parametrize(
    ("name", "content", "status", "sentence"),
    [
        ("a.exe", b"luri", 400, "Invalid request: file format not supported"),
        ("a", b"luri", 400, "Invalid request: file format not supported"),
        ("a.docx", b"luri", 400, "the document is damaged"),
        ("a.txt", b"\xff\xfa\x00", 400, "the document is not text in utf-8; save it in UTF-8."),
        ("a.txt", b"a\x00b", 400, "the document holds NUL characters"),
        ("a.txt", b"a" * 100_001, 413, "The text of the file is longer than 100000 characters."),
        ("a.txt", b"a" * 1_000_001, 413, "The file is larger than 1000000 bytes."),
    ],
)
def test_other_files_are_refused(client: httpx.Client, name: str, content: bytes, status: int, sentence: str) -> None:
    answer = client.post("/translate_file", files={"file": (name, content)}, data=PAIR)
    assert answer.status_code == status
    assert answer.json()["error"].startswith(sentence)


def test_an_autoregressive_model_can_be_served_too(
    autoregressive_folder: Path, running: Callable[..., AbstractContextManager[httpx.Client]]
) -> None:
    with running(models=(str(autoregressive_folder),)) as client:
        answer = client.post("/translate", json={"q": LONG, "alternatives": 6, **PAIR}).json()
        assert answer["translatedText"] == Translator(autoregressive_folder).translate([LONG])[0].text
        assert len(answer["alternatives"]) == 6
        ours = client.post("/v1/translate", json={"q": LONG, "iterations": 3, "trace": True, **PAIR}).json()
        assert ours["translatedText"] == answer["translatedText"]
        assert ours["sentences"][0]["trace"] is None
        pinned = client.post("/v1/translate", json={"q": SENTENCE, "pins": [{"phrase": "BA"}], **PAIR})
        assert pinned.status_code == 400
        assert "use a CMLM" in pinned.json()["error"]
