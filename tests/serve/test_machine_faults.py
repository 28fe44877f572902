"""A server on a machine whose time of day jumps by years, or whose disk fails."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest

from tests.torture import preload

Started = Callable[..., AbstractContextManager[tuple[str, "subprocess.Popen[bytes]"]]]
WaitUntil = Callable[[Callable[[], bool]], None]
Faults = Callable[[str, object], None]

PAIR = {"source": "xx", "target": "yy"}
TEXTS = ["bane.", "luri tisa kone bane.", "koke fumo."]


@pytest.fixture
def faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, object], None]:
    """Sets a fault of the machine for processes that the test starts."""
    library = preload.build(tmp_path)
    if library is None:
        lacking = "making machines fail needs a C compiler"
        pytest.fail(lacking) if os.environ.get("CI") else pytest.skip(lacking)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    return lambda name, value: monkeypatch.setenv(name, str(value))


def translate(url: str, text: str) -> str:
    return str(httpx.post(f"{url}/v1/translate", json={"q": text, **PAIR}).raise_for_status().json()["translatedText"])


def year(url: str) -> str:
    """The year in which the server believes to be."""
    return httpx.get(f"{url}/readyz").headers["Date"].split()[3]


def test_a_server_translates_keeps_files_and_stops_while_the_clock_jumps(
    faults: Faults,
    cmlm_folder: Path,
    tmp_path: Path,
    started: Started,
    translated: Callable[[str], str],
    wait_until: WaitUntil,
) -> None:
    faults(preload.CLOCK, 1)
    with started(cmlm_folder, tmp_path / "log", "--rate-limit", "1000") as (url, process):
        files = []
        for _ in range(5):
            assert [translate(url, text) for text in TEXTS] == [translated(text) for text in TEXTS]
            file = {"file": ("a.txt", b"bane.")}
            files.append(httpx.post(f"{url}/translate_file", files=file, data=PAIR).json()["translatedFileUrl"])
        assert {httpx.get(file).status_code for file in files} == {200}
        years = {year(url)}
        wait_until(lambda: bool({year(url)} - years))  # the clock does jump
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) in (0, -signal.SIGTERM)
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_a_failing_disk_is_no_error_of_the_server_which_goes_on_translating(
    faults: Faults, cmlm_folder: Path, tmp_path: Path, started: Started, translated: Callable[[str], str]
) -> None:
    (tmp_path / "files").mkdir()
    faults("TMPDIR", tmp_path / "files")
    faults(preload.FOLDER, tmp_path / "files" / "maskpredict-")  # the folder that the server makes for files
    faults(preload.CALL, 30)
    glossary = {**PAIR, "terms": [{"source": "bane", "target": "ENAB"}]}
    statuses = set()
    with started(cmlm_folder, tmp_path / "log") as (url, _):
        for _ in range(20):
            made = httpx.post(f"{url}/v1/glossaries", json=glossary)
            found = httpx.get(f"{url}/v1/glossaries")
            file = httpx.post(f"{url}/translate_file", files={"file": ("a.txt", b"bane.")}, data=PAIR)
            statuses |= {answer.status_code for answer in (made, found, file)}
            assert translate(url, TEXTS[1]) == translated(TEXTS[1])
        assert {answer.json()["error"].count(".") for answer in (made, found, file)} == {1}, "one sentence"
        assert made.headers["Retry-After"] == "60"
    assert statuses == {200, 201, 503}
    assert "Traceback" not in (tmp_path / "log").read_text()
