"""Glossaries over HTTP: this server's own routes, and DeepL's with DeepL's own client."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import deepl
import httpx
import pytest
from deepl.api_data import MultilingualGlossaryDictionaryEntries

TERMS = [{"source": "luri", "target": "EKUL"}]
BODY = {"source": "xx", "target": "yy", "terms": TERMS}


@pytest.fixture
def deepl_client(server_url: str) -> deepl.DeepLClient:
    """DeepL's client, pointed at the shared server."""
    return deepl.DeepLClient("any-key", server_url=server_url, send_platform_info=False)


def translate(client: httpx.Client, text: str, glossary_id: str | None = None) -> httpx.Response:
    return client.post("/v1/translate", json={"q": text, "source": "xx", "target": "yy", "glossary_id": glossary_id})


def test_a_kept_glossary_puts_its_terms_where_they_occur(
    client: httpx.Client, translated: Callable[[str], str]
) -> None:
    created = client.post("/v1/glossaries", json=BODY)
    assert created.status_code == 201
    glossary_id = created.json()["id"]
    assert "EKUL" in translate(client, "luri tisa.", glossary_id).json()["translatedText"]
    assert translate(client, "bane tisa.", glossary_id).json()["translatedText"] == translated("bane tisa.")
    assert glossary_id in [one["id"] for one in client.get("/v1/glossaries").json()["glossaries"]]
    assert client.delete(f"/v1/glossaries/{glossary_id}").status_code == 204
    assert translate(client, "luri tisa.", glossary_id).status_code == 404


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"terms": []}, "terms"),
        ({"terms": [{"source": " ", "target": "x"}]}, "is empty; delete the entry"),
        ({"terms": [*TERMS, {"source": "luri", "target": "IRIT"}]}, "keep one of them"),
        ({"terms": [{"source": "luri", "target": "日本"}]}, "has characters that the model's vocabulary lacks"),
        ({"target": "xx"}, "the same language"),
        ({"target": "qq"}, "qq is not supported"),
    ],
)
def test_a_bad_glossary_gets_one_sentence(client: httpx.Client, change: dict[str, object], sentence: str) -> None:
    response = client.post("/v1/glossaries", json={**BODY, **change})
    assert response.status_code == 400
    assert sentence in response.json()["error"]


def test_terms_can_come_with_a_text(client: httpx.Client) -> None:
    body = {"q": "luri tisa.", "source": "xx", "target": "yy", "terms": TERMS}
    assert "EKUL" in client.post("/v1/translate", json=body).json()["translatedText"]
    both = client.post("/v1/translate", json={**body, "glossary_id": "x"})
    assert (both.status_code, both.json()["error"]) == (400, "Invalid request: give glossary_id or terms, not both")
    bad = client.post("/v1/translate", json={**body, "terms": [*TERMS, {"source": "luri", "target": "IRIT"}]})
    assert "keep one of them" in bad.json()["error"]


def test_deepls_client_creates_a_glossary_and_translates_with_it(deepl_client: deepl.DeepLClient) -> None:
    glossary = deepl_client.create_glossary("toys", "xx", "yy", {"luri": "EKUL", "tisa": "IROK"})
    assert (glossary.ready, glossary.entry_count) == (True, 2)
    result = deepl_client.translate_text(["luri tisa.", "bane."], source_lang="xx", target_lang="yy", glossary=glossary)
    assert isinstance(result, list)
    assert "EKUL" in result[0].text
    assert "IROK" in result[0].text
    assert result[1].detected_source_lang == "XX"
    assert deepl_client.get_glossary_entries(glossary) == {"luri": "EKUL", "tisa": "IROK"}
    assert glossary.glossary_id in [one.glossary_id for one in deepl_client.list_glossaries()]
    deepl_client.delete_glossary(glossary)
    with pytest.raises(deepl.GlossaryNotFoundException):
        deepl_client.get_glossary(glossary.glossary_id)


def test_deepls_client_creates_a_multilingual_glossary(deepl_client: deepl.DeepLClient) -> None:
    dictionary = MultilingualGlossaryDictionaryEntries("xx", "yy", {"luri": "EKUL"})
    glossary = deepl_client.create_multilingual_glossary("toys", [dictionary])
    result = deepl_client.translate_text(
        "luri tisa.", source_lang="xx", target_lang="yy", glossary=glossary.glossary_id
    )
    assert isinstance(result, deepl.TextResult)
    assert "EKUL" in result.text
    entries = deepl_client.get_multilingual_glossary_entries(glossary, "xx", "yy")
    assert str(entries.dictionaries[0].entries) == "luri\tEKUL"  # which the client leaves as the server sent it
    assert glossary.glossary_id in [one.glossary_id for one in deepl_client.list_multilingual_glossaries()]
    deepl_client.delete_multilingual_glossary(glossary)


def test_deepls_client_changes_a_glossary(deepl_client: deepl.DeepLClient) -> None:
    def dictionary(entries: dict[str, str], source: str = "xx") -> MultilingualGlossaryDictionaryEntries:
        return MultilingualGlossaryDictionaryEntries(source, "yy" if source == "xx" else "xx", entries)

    glossary = deepl_client.create_multilingual_glossary("toys", [dictionary({"luri": "EKUL", "tisa": "IROK"})])
    renamed = deepl_client.update_multilingual_glossary_name(glossary, "games")
    assert (renamed.name, renamed.glossary_id) == ("games", glossary.glossary_id)
    added = deepl_client.update_multilingual_glossary_dictionary(glossary, dictionary({"luri": "IRIT", "bane": "EK"}))
    assert added.dictionaries[0].entry_count == 3
    entries = deepl_client.get_multilingual_glossary_entries(glossary, "xx", "yy").dictionaries[0].entries
    assert str(entries) == "luri\tIRIT\ntisa\tIROK\nbane\tEK"
    replaced = deepl_client.replace_multilingual_glossary_dictionary(glossary, dictionary({"kone": "EK"}))
    assert (replaced.source_lang, replaced.entry_count) == ("XX", 1)
    deepl_client.delete_multilingual_glossary_dictionary(glossary, None, "xx", "yy")
    with pytest.raises(deepl.GlossaryNotFoundException, match="no terms"):
        deepl_client.get_glossary(glossary.glossary_id)
    with pytest.raises(deepl.GlossaryNotFoundException, match="no terms in this direction"):
        deepl_client.get_multilingual_glossary_entries(glossary, "xx", "yy")
    deepl_client.delete_multilingual_glossary(glossary)


def test_deepls_client_is_told_what_is_wrong_with_a_glossary(deepl_client: deepl.DeepLClient) -> None:
    with pytest.raises(deepl.DeepLException, match="has characters that the model's vocabulary lacks"):
        deepl_client.create_glossary("toys", "xx", "yy", {"luri": "日本"})


def test_a_glossary_belongs_to_the_api_key_that_sent_it(
    running: Callable[..., AbstractContextManager[httpx.Client]], tmp_path: Path
) -> None:
    keys = tmp_path / "keys"
    keys.write_text("one\ntwo\n")
    with running(api_keys_file=keys) as client:
        created = client.post("/v1/glossaries", json=BODY, headers={"Authorization": "Bearer one"})
        address = f"/v2/glossaries/{created.json()['id']}"
        assert client.get(address, headers={"Authorization": "DeepL-Auth-Key one"}).status_code == 200
        assert client.get(address, headers={"Authorization": "DeepL-Auth-Key two"}).status_code == 404
        assert client.get(address).status_code == 403
