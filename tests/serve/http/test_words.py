"""POST /v1/words finds other words for a place of a translation."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

TEXT = "luri tisa kone."
PAIR = {"source": "xx", "target": "yy"}


def sentence(client: httpx.Client) -> dict[str, Any]:
    (found,) = client.post("/v1/translate", json={"q": TEXT, **PAIR}).json()["sentences"]
    return dict(found)


def test_other_words_are_whole_words_and_the_likeliest_come_first(client: httpx.Client) -> None:
    translation = sentence(client)
    tokens = translation["tokens"]
    place = {"tokens": tokens, "start": 0, "end": next(i for i, token in enumerate(tokens) if i and token[0] == "▁")}
    answer = client.post("/v1/words", json={"source_text": TEXT, **PAIR, **place})
    words = answer.json()["words"]
    assert words
    assert [word["probability"] for word in words] == sorted((word["probability"] for word in words), reverse=True)
    texts = [word["text"] for word in words]
    assert len(set(texts)) == len(texts)
    assert translation["text"].split(" ")[0] not in texts
    assert all(text.isalpha() and len(text) > 1 for text in texts)
    others = translation["text"].split(" ")[1:]
    assert [word["sentence"]["text"].split(" ") for word in words] == [[text, *others] for text in texts]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"start": 3, "end": 3}, "end: start and end name no subwords"),
        ({"end": 1_000}, "end: start and end name no subwords"),
        ({"target": "xx"}, "the same language"),
        ({"tokens": ["▁a", "?!", "</s>"]}, "not in the model's vocabulary"),
        ({"source_text": "luri " * 2_000}, "exceeds text limit"),
    ],
)
def test_mistakes_are_explained(client: httpx.Client, change: dict[str, Any], part: str) -> None:
    body = {"source_text": TEXT, **PAIR, "tokens": sentence(client)["tokens"], "start": 0, "end": 1, **change}
    answer = client.post("/v1/words", json=body)
    assert answer.status_code == 400
    assert part in answer.json()["error"]
