"""The /v1 routes return everything the Translator knows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from maskpredict.runtime.translator import Translator

Running = Callable[..., AbstractContextManager[httpx.Client]]

SENTENCE = "luri tisa kone bane."
PAIR = {"source": "xx", "target": "yy"}


@pytest.fixture(scope="module")
def translator(cmlm_folder: Path) -> Translator:
    return Translator(cmlm_folder)


def ask(client: httpx.Client, **body: Any) -> dict[str, Any]:
    answer = client.post("/v1/translate", json={**PAIR, **body})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_sentence_has_scores_confidences_passes_and_lengths(client: httpx.Client, translator: Translator) -> None:
    answer = ask(client, q=SENTENCE, iterations=3, length_candidates=2)
    (known,) = translator.translate([SENTENCE], iterations=3, length_candidates=2)
    (sentence,) = answer["sentences"]
    assert answer["translatedText"] == sentence["text"] == known.text
    assert sentence["source"] == SENTENCE
    assert sentence["score"] == pytest.approx(known.score)
    assert sentence["tokens"] == known.tokens
    assert len(sentence["confidences"]) == len(sentence["tokens"])
    assert all(0 <= confidence <= 1 for confidence in sentence["confidences"])
    assert sentence["passes"] == 3
    assert sentence["lengths"] == list(known.lengths)
    assert (sentence["alternatives"], sentence["trace"]) == ([], None)
    assert answer["seconds"] > 0
    assert "detectedLanguage" not in answer


def test_text_is_cut_into_sentences_and_put_together_again(client: httpx.Client) -> None:
    answer = ask(client, q="luri tisa. Kone bane!\n\n* luke")
    assert [sentence["source"] for sentence in answer["sentences"]] == ["luri tisa.", "Kone bane!", "* luke"]
    first, second, third = (sentence["text"] for sentence in answer["sentences"])
    assert answer["translatedText"] == f"{first} {second}\n\n{third}"


def test_the_trace_has_every_pass_of_every_candidate(client: httpx.Client, translator: Translator) -> None:
    (sentence,) = ask(client, q=SENTENCE, iterations=4, length_candidates=3, trace=True)["sentences"]
    trace = sentence["trace"]
    assert [candidate["length"] for candidate in trace["candidates"]] == sentence["lengths"]
    chosen = trace["candidates"][trace["chosen"]]
    assert chosen["score"] == sentence["score"] == max(one["score"] for one in trace["candidates"])
    assert [len(candidate["passes"]) for candidate in trace["candidates"]] == [4] * len(trace["candidates"])
    assert all(chosen["passes"][0]["masked"])
    assert chosen["passes"][-1]["tokens"] == sentence["tokens"]
    assert chosen["passes"][-1]["probabilities"] == sentence["confidences"]
    (known,) = translator.translate([SENTENCE], iterations=4, length_candidates=3, trace=True)
    assert known.trace is not None
    assert [one["masked"] for one in chosen["passes"]] == [one.masked for one in known.trace.passes]


def test_traces_end_where_an_answer_would_grow_too_large(running: Running) -> None:
    text = "\n".join([" ".join(["luri"] * 18)] * 40)
    with running(work_limit=10**6) as client:
        answer = ask(client, q=text, iterations=32, length_candidates=12, trace=True)
    traced = [sentence["trace"] is not None for sentence in answer["sentences"]]
    assert traced[0]
    assert not traced[-1]
    assert traced == sorted(traced, reverse=True)


def test_one_pass_for_each_token_can_be_asked_for(client: httpx.Client) -> None:
    (sentence,) = ask(client, q=SENTENCE, iterations="N", length_candidates=1)["sentences"]
    assert sentence["passes"] == len(sentence["tokens"])


def test_single_settings_override_a_preset(client: httpx.Client) -> None:
    speeds = client.get("/frontend/settings").json()["speeds"]
    assert speeds == ["fast", "balanced", "best"]
    for speed in speeds:
        (sentence,) = ask(client, q=SENTENCE, speed=speed, iterations=2, length_candidates=1)["sentences"]
        assert (sentence["passes"], len(sentence["lengths"])) == (2, 1)
    passes = {speed: ask(client, q=SENTENCE, speed=speed)["sentences"][0]["passes"] for speed in speeds}
    assert passes["fast"] <= passes["best"]


def test_pinned_words_are_kept_where_they_were_put(client: httpx.Client) -> None:
    (anywhere,) = ask(client, q="luri tisa. Bane.", pins=[{"phrase": "ENOK"}])["sentences"]
    assert "ENOK" in anywhere["text"]
    assert anywhere["source"] == "luri tisa. Bane."
    (placed,) = ask(client, q=SENTENCE, pins=[{"phrase": "ENOK", "position": 0}])["sentences"]
    assert placed["text"].startswith("ENOK")
    assert placed["confidences"][0] == 1


def test_alternatives_come_with_scores_best_first(client: httpx.Client) -> None:
    text = "luri tisa kone bane luke fumo."
    (sentence,) = ask(client, q=text, alternatives=2)["sentences"]
    texts = [sentence["text"], *(other["text"] for other in sentence["alternatives"])]
    scores = [sentence["score"], *(other["score"] for other in sentence["alternatives"])]
    assert len(set(texts)) == 3
    assert scores == sorted(scores, reverse=True)


def test_a_detected_language_is_reported(client: httpx.Client) -> None:
    answer = ask(client, q=SENTENCE, source="auto")
    assert answer["detectedLanguage"] == {"language": "xx", "confidence": 0}


def test_a_text_in_the_target_language_has_no_sentences_to_translate(client: httpx.Client) -> None:
    answer = ask(client, q="LURI.", source="yy")
    assert (answer["translatedText"], answer["sentences"]) == ("LURI.", [])


def fill(client: httpx.Client, template: dict[str, Any], **body: Any) -> httpx.Response:
    return client.post("/v1/fill", json={**PAIR, "source_text": SENTENCE, "template": template, **body})


def test_gaps_in_a_text_are_filled(client: httpx.Client, translator: Translator) -> None:
    answer = fill(client, {"text": "ENOK ___ ENAB."}, iterations=3, trace=True).json()
    assert answer["text"].startswith("ENOK")
    assert answer["text"].endswith("ENAB.")
    assert answer["trace"]["candidates"][answer["trace"]["chosen"]]["passes"][-1]["tokens"] == answer["tokens"]


def test_any_tokens_can_be_masked_again_while_the_others_stay(client: httpx.Client) -> None:
    (whole,) = ask(client, q=SENTENCE, length_candidates=1)["sentences"]
    masked = {1, 2}
    tokens = [None if place in masked else token for place, token in enumerate(whole["tokens"])]
    answer = fill(client, {"tokens": tokens}, iterations=2).json()
    assert answer["passes"] == 2
    assert answer["lengths"] == [len(tokens)]
    given = [place for place in range(len(tokens)) if place not in masked]
    assert [answer["tokens"][place] for place in given] == [tokens[place] for place in given]
    assert all(answer["confidences"][place] == 1 for place in given)


def test_the_end_mark_can_be_masked_too(client: httpx.Client) -> None:
    (whole,) = ask(client, q=SENTENCE, length_candidates=1)["sentences"]
    answer = fill(client, {"tokens": [*whole["tokens"][:-1], None]}).json()
    assert answer["tokens"][:-1] == whole["tokens"][:-1]
    assert answer["tokens"][-1] == "</s>"


def test_all_tokens_can_be_masked(client: httpx.Client) -> None:
    answer = fill(client, {"tokens": [None] * 7}).json()
    assert answer["lengths"] == [7]


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ({}, "Invalid request: template: give either text or tokens"),
        ({"text": "A ___", "tokens": [None, None]}, "Invalid request: template: give either text or tokens"),
        ({"text": "ENOK"}, "the template 'ENOK' has no gap; write ___ where words are missing."),
        ({"text": "___ " * 9}, "Invalid request: a template has at most 4 gaps"),
        ({"tokens": ["nonsense!", None, "</s>"]}, "the token 'nonsense!' is not in the model's vocabulary; "),
        ({"tokens": ["▁", "</s>"]}, "every token is given; leave out those that are to be predicted."),
        ({"tokens": [None, "▁"]}, "the last token is not the end mark; add it, or leave the last position open."),
        ({"tokens": [None] * 200}, "a target of 200 subwords is too long for the model (at most 63); shorten it."),
    ],
)
def test_templates_that_make_no_sense_are_refused(
    client: httpx.Client, template: dict[str, Any], sentence: str
) -> None:
    answer = fill(client, template)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(sentence)
