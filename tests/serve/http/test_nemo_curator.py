"""NeMo Curator's form of `POST /translate`: what its backend `nmt` sends and expects, and that backend itself."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from uv import find_uv_bin

PACKAGES = ("nemo-curator==1.4.0", "cosmos-xenna==0.2.0")
THEIR_IMPORTS = ("ray", "pandas", "pyarrow", "loguru", "aiohttp", "requests", "openai", "pyyaml", "fsspec")
"""What the stages of translation import; all that NeMo Curator asks for would be gigabytes."""


def test_their_own_stages_translate_with_this_server(
    server_url: str, translated: Callable[[str], str], tmp_path: Path
) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}

    def run(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    uv = find_uv_bin()
    run(uv, "venv", "--quiet", "theirs")
    run(uv, "pip", "install", "--quiet", "--python", "theirs", "--no-deps", *PACKAGES)
    run(uv, "pip", "install", "--quiet", "--python", "theirs", *THEIR_IMPORTS)
    program = Path(__file__).with_name("use_nemo_curator.py")
    texts = ["luri tisa kone.\nbane.", "42", "bane luke."]
    answer = json.loads(run("theirs/bin/python", str(program), server_url, *texts))
    lines = [translated("luri tisa kone."), translated("bane.")]
    assert answer == {"translations": ["\n".join(lines), "42", translated("bane luke.")], "errors": [""] * 3}


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
