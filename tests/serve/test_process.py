"""`maskpredict serve` as an operator uses it: starting, stopping, workers, logs."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from maskpredict.cli import app
from maskpredict.runtime import find_model

Started = Callable[..., AbstractContextManager[tuple[str, "subprocess.Popen[bytes]"]]]
WaitUntil = Callable[[Callable[[], bool]], None]

PAIR = {"source": "xx", "target": "yy"}
SLOW = {"q": "luri tisa kone bane luke fumo tine koke.\n" * 20, "iterations": 32, "length_candidates": 16, **PAIR}


def test_a_server_finishes_accepted_requests_before_it_stops(
    cmlm_folder: Path, tmp_path: Path, started: Started, wait_until: WaitUntil
) -> None:
    options = "--work-limit", "10000000"
    with started(cmlm_folder, tmp_path / "log", *options) as (url, process), ThreadPoolExecutor(2) as pool:
        accepted = [pool.submit(httpx.post, f"{url}/v1/translate", json=SLOW, timeout=60) for _ in range(2)]
        wait_until(lambda: "running_batches 0.0" not in httpx.get(f"{url}/metrics").text)
        process.send_signal(signal.SIGTERM)
        assert [answer.result().status_code for answer in accepted] == [200, 200]
        # uvicorn hands the signal on once it is done, so that whoever sent it sees that it worked.
        assert process.wait(60) in (0, -signal.SIGTERM)
        with pytest.raises(httpx.TransportError):
            httpx.get(url)


def test_several_workers_share_socket_metrics_and_files(
    cmlm_folder: Path, tmp_path: Path, started: Started, wait_until: WaitUntil
) -> None:
    with started(cmlm_folder, tmp_path / "log", "--workers", "2") as (url, process):
        wait_until(lambda: (tmp_path / "log").read_text().count(" is ready\n") == 2)
        before = _translations(url)
        for _ in range(20):  # each on a connection of its own, so that both workers have some
            assert httpx.post(f"{url}/translate", json={"q": "bane.", **PAIR}).status_code == 200
        assert _translations(url) == before + 20
        file = {"file": ("a.txt", b"bane.")}
        address = httpx.post(f"{url}/translate_file", files=file, data=PAIR).json()["translatedFileUrl"]
        assert {httpx.get(address).status_code for _ in range(6)} == {200}
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def _translations(url: str) -> float:
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    found = [line for line in lines if line.startswith("maskpredict_request_seconds_count") and '"/translate"' in line]
    return sum(float(line.rpartition(" ")[2]) for line in found)


def test_the_log_has_routes_and_times_but_no_texts_and_no_keys(
    client: httpx.Client, server_log: Path, server_url: str
) -> None:
    secret = "geheimniskram"
    client.post("/translate", json={"q": secret, "api_key": secret, **PAIR})
    client.post("/translate", content=secret, headers={"content-type": "application/json"})
    client.post("/v1/fill", json={"source_text": secret, "template": {"text": secret}, **PAIR})
    client.get("/v1/translate/stream", params={"q": secret, "api_key": secret, **PAIR})
    client.get(f"/{secret}", params={"q": secret})
    client.post("/translate", json={"q": "bane.", "source": secret, "target": secret})
    log = server_log.read_text()
    assert secret not in log
    assert f"serving xx-yy at {server_url}" in log
    assert "GET /v1/translate/stream 200 0." in log
    assert secret not in client.get("/metrics").text


def test_mistakes_get_one_sentence(cmlm_folder: Path, tmp_path: Path, server_url: str) -> None:
    model = str(cmlm_folder)
    copy = str(shutil.copytree(cmlm_folder, tmp_path / "copy"))
    port = server_url.rpartition(":")[2]
    damaged = shutil.copytree(cmlm_folder, tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"no weights")
    for options, sentence in [
        (("-m", str(tmp_path / "nowhere")), "there is no model folder"),
        (("-m", model, "--load-only", "de-en"), "there is no model de-en; there is xx-yy."),
        (("-m", model, "-m", f"other={copy}"), "two models have the same direction; serve one of them"),
        (("-m", model, "--port", port), f"cannot listen at 127.0.0.1, port {port}"),
        (("-m", model, "--port", "0", "--compute-type", "int3"), "compute_type is 'int3'; choose one of"),
        (("-m", model, "--port", "0", "--engine", "abacus"), "there is no engine 'abacus'; choose auto or one of"),
        (("-m", model, "--port", "0", "--engine", "cuda", "--device", "cpu"), "computes on an NVIDIA GPU, not on cpu"),
        (("-m", model, "--max-queue", "0"), "max_queue is 0; use a number above 0."),
        (("-m", model, "--api-keys-file", str(tmp_path / "none")), "the API keys in"),
        (("-m", str(damaged), "--port", "0"), "is damaged"),
    ]:
        result = CliRunner().invoke(app, ["serve", *options])
        assert result.exit_code == 2
        assert result.output.startswith("error: ")
        assert sentence in result.output
        assert result.output.count("\n") == 1


def test_a_missing_dependency_is_named(cmlm_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    result = CliRunner().invoke(app, ["serve", "-m", str(cmlm_folder)])
    assert result.exit_code == 2
    assert "`maskpredict serve` needs FastAPI: pip install 'maskpredict[serve]'." in result.output


def test_without_shipped_models_one_must_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find_model, "SHIPPED", tmp_path)
    result = CliRunner().invoke(app, ["serve"])
    assert result.exit_code == 2
    assert "no model comes with this version; name one" in result.output


def test_workers_that_cannot_start_end_the_server(cmlm_folder: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(cmlm_folder, tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"no weights")
    command = [sys.executable, "-m", "maskpredict.cli", "serve", "-m", str(damaged), "--port", "0", "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 3
    assert "is damaged" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_model_can_have_a_name_and_be_chosen_by_it(
    cmlm_folder: Path, autoregressive_folder: Path, running: Callable[..., AbstractContextManager[httpx.Client]]
) -> None:
    models = (f"parallel={cmlm_folder}", f"stepwise={autoregressive_folder}")
    with running(models=models, load_only=("stepwise",)) as client:
        client.post("/translate", json={"q": "bane.", **PAIR})
        assert 'maskpredict_passes_count{engine="torch",model="stepwise"} 1.0' in client.get("/metrics").text


def test_a_json_log_follows_a_request_through_its_batches(cmlm_folder: Path, tmp_path: Path, started: Started) -> None:
    log = tmp_path / "log"
    with started(cmlm_folder, log, "--log-format", "json", "--log-level", "debug") as (url, _):
        headers = {"X-Request-ID": "job-7"}
        answer = httpx.post(f"{url}/v1/translate", json={"q": "bane.\nluri.", **PAIR}, headers=headers)
        assert answer.headers["x-request-id"] == "job-7"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (request,) = [line for line in lines if line.get("request") == "job-7"]
    assert (request["route"], request["method"], request["status"]) == ("/v1/translate", "POST", 200)
    assert request["sentences"] == 2
    assert request["positions"] > 0
    assert 0 < request["computing_seconds"] <= request["seconds"]
    batches = [line for line in lines if "job-7" in line.get("requests", [])]
    assert sum(batch["sentences"] for batch in batches) == 2
    assert {(batch["model"], batch["engine"]) for batch in batches} == {("xx-yy", "onnxruntime")}
    assert "bane" not in log.read_text()
