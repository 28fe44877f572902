"""Decoding passes arrive as server-sent events."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

PAIR = {"source": "xx", "target": "yy"}


def events(client: httpx.Client, **parameters: Any) -> list[tuple[str, dict[str, Any]]]:
    answer = client.get("/v1/translate/stream", params={**PAIR, **parameters})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    found = []
    for block in answer.text.removesuffix("\n\n").split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_there_is_an_event_for_each_pass_and_one_for_the_end(client: httpx.Client) -> None:
    found = events(client, q="luri tisa kone.\nBane.", iterations=3, length_candidates=2)
    assert [name for name, _ in found] == ["pass"] * 6 + ["done"]
    assert [(one["sentence"], one["pass"]) for _, one in found[:-1]] == [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]
    whole = client.post(
        "/v1/translate", json={"q": "luri tisa kone.\nBane.", "iterations": 3, "length_candidates": 2, **PAIR}
    ).json()
    assert {**found[-1][1], "seconds": 0} == {**whole, "seconds": 0}
    assert all(found[0][1]["masked"])
    assert found[2][1]["tokens"] == whole["sentences"][0]["tokens"]


def test_the_passes_can_be_had_once_more_at_the_end(client: httpx.Client) -> None:
    _, done = events(client, q="bane.", iterations=2, trace=True)[-1]
    assert len(done["sentences"][0]["trace"]["candidates"][0]["passes"]) == 2


def test_a_text_without_words_is_done_at_once(client: httpx.Client) -> None:
    ((name, done),) = events(client, q="123\n")
    assert (name, done["translatedText"]) == ("done", "123\n")


@pytest.mark.parametrize(
    ("parameters", "status"),
    [
        ({"q": "bane.", "source": "zz"}, 400),
        ({}, 400),
        ({"q": "bane.", "iterations": "many"}, 400),
        ({"q": "bane.", "iterations": 33}, 400),
        ({"q": "a" * 5_001}, 400),
        ({"q": "a\0b"}, 400),
    ],
)
def test_mistakes_are_noticed_before_the_stream_begins(
    client: httpx.Client, parameters: dict[str, Any], status: int
) -> None:
    answer = client.get("/v1/translate/stream", params={**PAIR, **parameters})
    assert answer.status_code == status
    assert answer.json()["error"]
