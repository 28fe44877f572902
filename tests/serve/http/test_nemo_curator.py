"""NeMo Curator's form of `POST /translate`: what its backend `nmt` sends and expects."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest


@pytest.mark.parametrize("source", ["xx", "xx-us", "auto"])
def test_texts_are_translated_in_their_order(
    client: httpx.Client, translated: Callable[[str], str], source: str
) -> None:
    texts = ["luri tisa kone.", "", "bane."]
    answer = client.post("/translate", json={"texts": texts, "src_lang": source, "tgt_lang": "yy"})
    assert answer.json() == {"translations": [translated("luri tisa kone."), "", translated("bane.")]}


def test_no_texts_give_no_translations(client: httpx.Client) -> None:
    answer = client.post("/translate", json={"texts": [], "src_lang": "xx", "tgt_lang": "yy"})
    assert answer.json() == {"translations": []}


def test_a_wrong_request_is_refused_in_a_sentence(client: httpx.Client) -> None:
    wrong = client.post("/translate", json={"texts": "bane.", "src_lang": "xx", "tgt_lang": "yy"})
    assert (wrong.status_code, wrong.json()["error"].split(":")[:2]) == (400, ["Invalid request", " texts"])
    unknown = client.post("/translate", json={"texts": ["bane."], "src_lang": "xx", "tgt_lang": "qq"})
    assert (unknown.status_code, unknown.json()["error"]) == (400, "qq is not supported; the languages are xx, yy.")


def test_the_server_is_found_to_be_healthy(client: httpx.Client) -> None:
    assert client.get("/health").json() == {"status": "ok"}
