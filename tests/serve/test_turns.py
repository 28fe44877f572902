"""Clients take turns inside long work, work is bounded, and nobody computes for a client that has left."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import torch

from maskpredict.languages import Languages
from maskpredict.model.config import ModelConfig
from maskpredict.model.folder import ModelFolder
from maskpredict.model.module_weights import weights_of
from maskpredict.systems import find_system, vocabulary_of
from maskpredict.tokenizer import Tokenizers

Running = Callable[..., AbstractContextManager[httpx.Client]]
WaitUntil = Callable[[Callable[[], bool]], None]
ClientAt = Callable[[str, httpx.Client], AbstractContextManager[httpx.Client]]

PAIR = {"source": "xx", "target": "yy"}
QUICK: dict[str, Any] = {"q": "bane.", "iterations": 1, "length_candidates": 1, **PAIR}
LONG_SENTENCE = "luri tisa kone bane " * 2
LONG: dict[str, dict[str, Any]] = {
    "/v1/translate": {"q": LONG_SENTENCE, "iterations": "N", "length_candidates": 5, **PAIR},
    "/v1/fill": {
        "source_text": LONG_SENTENCE,
        "template": {"text": "ENAB ___ ASIT ___ ENOK ___ IRUL ___."},
        "iterations": 16,
        **PAIR,
    },
}
"""One sentence each, which takes seconds."""


@pytest.fixture(scope="module")
def slow_folder(toy_tokenizers: Tokenizers, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learned nothing, and takes its time for it."""
    torch.manual_seed(1)
    config = ModelConfig(
        width=256, hidden=512, heads=4, encoder_layers=1, decoder_layers=4, dropout=0.0, norm="pre", max_positions=256
    )
    system = find_system("cmlm")(config, vocabulary_of(toy_tokenizers))
    folder = tmp_path_factory.mktemp("models") / "slow"
    ModelFolder("cmlm", config, Languages("xx", "yy"), toy_tokenizers, weights_of(system), {}).write(folder)
    return folder


def metric(client: httpx.Client, name: str) -> float:
    lines = client.get("/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"maskpredict_{name}"))


@pytest.mark.parametrize("route", LONG)
def test_others_have_their_turn_inside_one_long_sentence(
    running: Running, client_at: ClientAt, slow_folder: Path, wait_until: WaitUntil, route: str
) -> None:
    with (
        running(models=(str(slow_folder),), work_limit=10**7, timeout=600.0) as attacker,
        ThreadPoolExecutor(1) as pool,
    ):
        long: Future[httpx.Response] = pool.submit(attacker.post, route, json=LONG[route])
        with client_at("127.0.0.2", attacker) as other:
            wait_until(lambda: metric(other, "running_batches") > 0)
            for _ in range(3):
                assert other.post("/v1/translate", json=QUICK).status_code == 200
                assert not long.done()
        assert long.result().status_code == 200


def test_nothing_is_computed_for_a_client_that_has_left(
    running: Running, slow_folder: Path, wait_until: WaitUntil
) -> None:
    with running(models=(str(slow_folder),), work_limit=10**7, timeout=600.0) as client:
        address = urlsplit(str(client.base_url))
        body = httpx.Request("POST", "http://x", json=LONG["/v1/translate"]).content
        with socket.create_connection((address.hostname, address.port)) as leaving:
            head = "POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            leaving.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            wait_until(lambda: metric(client, "running_batches") > 0)
        wait_until(lambda: metric(client, "running_batches") == 0)
        assert metric(client, "passes_count") == 0


def test_readiness_tells_how_busy_the_server_is_and_health_does_not(
    running: Running, slow_folder: Path, client_at: ClientAt, wait_until: WaitUntil
) -> None:
    with running(models=(str(slow_folder),), work_limit=10**7, timeout=600.0) as client, ThreadPoolExecutor(1) as pool:
        assert client.get("/readyz").json() == {"status": "ok", "waiting_sentences": 0, "unfinished_seconds": 0.0}
        long = pool.submit(client.post, "/v1/fill", json=LONG["/v1/fill"])
        wait_until(lambda: client.get("/readyz").json()["unfinished_seconds"] > 0)
        assert client.get("/readyz").json()["status"] == "ok"
        assert client.get("/health").json() == {"status": "ok"}
        assert long.result().status_code == 200
        wait_until(lambda: client.get("/readyz").json()["unfinished_seconds"] == 0)
