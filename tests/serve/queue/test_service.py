"""Many clients at once: batching, a full queue, timeouts, and clients that disconnect."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import urlsplit

import httpx

Running = Callable[..., AbstractContextManager[httpx.Client]]
WaitUntil = Callable[[Callable[[], bool]], None]
ClientAt = Callable[[str, httpx.Client], AbstractContextManager[httpx.Client]]

PAIR = {"source": "xx", "target": "yy"}
QUICK: dict[str, Any] = {"q": "bane.", "iterations": 1, "length_candidates": 1, **PAIR}
SLOW: dict[str, Any] = {
    "q": "luri tisa kone bane luke fumo tine koke.\n" * 30,
    "iterations": 32,
    "length_candidates": 16,
    **PAIR,
}
"""Takes some seconds."""
WORK = 10**7
"""A limit of work that lets `SLOW` through."""


def metric(client: httpx.Client, name: str) -> float:
    lines = client.get("/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"maskpredict_{name}"))


def test_requests_share_batches_and_are_translated_as_if_alone(
    running: Running, translated: Callable[[str], str], sentences: list[str]
) -> None:
    texts = sentences[:40]
    with running(batch_milliseconds=100.0) as client, ThreadPoolExecutor(40) as pool:
        answers = pool.map(lambda text: client.post("/translate", json={"q": text, **PAIR}).json(), texts)
        assert [answer["translatedText"] for answer in answers] == [translated(text) for text in texts]
        assert metric(client, "batch_sentences_sum") == 40
        assert metric(client, "batch_sentences_count") < 20


def test_a_request_that_fails_does_not_affect_others_in_its_batch(running: Running) -> None:
    bad = {**QUICK, "pins": [{"phrase": "ENAB", "position": 0}, {"phrase": "ENAB", "position": 1}]}
    with running(batch_milliseconds=100.0) as client, ThreadPoolExecutor(8) as pool:
        bodies = [QUICK, bad] * 4
        answers = list(pool.map(lambda body: client.post("/v1/translate", json=body), bodies))
        assert [answer.status_code for answer in answers] == [200, 400] * 4
        assert {answer.json()["error"] for answer in answers[1::2]} == {
            "two pins overlap at position 1; pin one of them further right."
        }


def test_a_client_that_fills_its_share_of_the_queue_gets_503_and_others_do_not(
    running: Running, client_at: ClientAt
) -> None:
    # Each has two sentences in the queue, or one beside a paused batch: the share of eight holds seven of them at most.
    bodies = [{**SLOW, "q": "luri tisa kone bane luke fumo tine koke.\n" * 12, "iterations": 32 - i} for i in range(10)]
    with running(max_queue=8, work_limit=WORK, timeout=600.0) as client, ThreadPoolExecutor(10) as pool:
        slow = [pool.submit(client.post, "/v1/translate", json=body) for body in bodies]
        refused = next(one.result() for one in as_completed(slow))
        assert refused.status_code == 503
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert refused.json() == {"error": "The server is busy; try again in a moment."}
        assert client.get("/health").status_code == 200
        with client_at("127.0.0.2", client) as other:
            assert other.post("/v1/translate", json=QUICK).status_code == 200
        assert {one.result().status_code for one in slow} == {200, 503}
        assert client.post("/v1/translate", json=QUICK).status_code == 200


def test_a_request_that_would_take_too_long_is_refused_at_once(running: Running) -> None:
    with running(timeout=0.3, work_limit=WORK) as client:
        answer = client.post("/v1/translate", json=SLOW)
        assert answer.status_code == 503
        assert answer.json()["error"].startswith("The translation would take about ")
        assert metric(client, "passes_count") == 0


def test_a_request_that_takes_too_long_times_out(running: Running, wait_until: WaitUntil) -> None:
    with running(timeout=0.3, batch_milliseconds=3_000.0) as client:
        answer = client.post("/v1/translate", json=QUICK)
        assert answer.status_code == 503
        assert answer.json() == {"error": "The translation took longer than 0.3 seconds."}
        wait_until(lambda: metric(client, "queue_sentences") == 0)
        with client.stream("GET", "/v1/translate/stream", params=QUICK) as stream:
            assert 'event: error\ndata: {"error": "The translation took longer' in stream.read().decode()


def test_a_request_of_too_much_work_is_refused(client: httpx.Client) -> None:
    answer = client.post("/v1/translate", json=SLOW)
    assert answer.status_code == 400
    assert "positions to compute, where 240,000 are allowed" in answer.json()["error"]


def test_a_client_that_disconnects_frees_its_place_in_the_queue(running: Running, wait_until: WaitUntil) -> None:
    with running(work_limit=WORK) as client:
        address = urlsplit(str(client.base_url))
        body = httpx.Request("POST", "http://x", json=SLOW).content
        with socket.create_connection((address.hostname, address.port)) as leaving:
            head = "POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            leaving.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            wait_until(lambda: metric(client, "running_batches") > 0)
        wait_until(lambda: client.post("/v1/translate", json=QUICK).status_code == 200)
        assert metric(client, "passes_count") < 50
        wait_until(lambda: 'status="499"' in client.get("/metrics").text)


def test_a_client_that_closes_a_stream_frees_its_place_in_the_queue(running: Running, wait_until: WaitUntil) -> None:
    with running(work_limit=WORK) as client:
        with client.stream("GET", "/v1/translate/stream", params=SLOW) as stream:
            assert next(stream.iter_lines()) == "event: pass"
        wait_until(lambda: metric(client, "running_batches") == 0)
        assert metric(client, "passes_count") < 50


def test_a_short_request_overtakes_a_long_one(running: Running, wait_until: WaitUntil) -> None:
    with running(work_limit=WORK) as client, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(client.post, "/v1/translate", json=SLOW)
        wait_until(lambda: metric(client, "running_batches") > 0)
        assert client.post("/v1/translate", json=QUICK).status_code == 200
        assert not slow.done()
        assert slow.result().status_code == 200


def test_a_connection_serves_one_request_after_another(client: httpx.Client) -> None:
    answers = [client.post("/v1/translate", json=QUICK).json()["translatedText"] for _ in range(4)]
    assert len(set(answers)) == 1
