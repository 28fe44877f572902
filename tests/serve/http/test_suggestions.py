"""Suggested translations are kept in a file if the server collects them."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest

from maskpredict.errors import UserError
from maskpredict.serve.http import suggestion_file
from maskpredict.serve.http.errors import ApiError
from maskpredict.serve.http.suggestion_file import SuggestionFile

SUGGESTION = {"q": "bane", "s": "ñame\n", "source": "xx", "target": "yy"}


def test_a_suggestion_is_kept(running: Callable[..., AbstractContextManager[httpx.Client]], tmp_path: Path) -> None:
    file = tmp_path / "suggestions.jsonl"
    with running(suggestions=file) as client:
        assert client.get("/frontend/settings").json()["suggestions"] is True
        assert client.post("/suggest", data=SUGGESTION).json() == {"success": True}
        assert client.post("/suggest", json=SUGGESTION).json() == {"success": True}
        assert client.post("/suggest", json={**SUGGESTION, "target": "qq"}).status_code == 400
        assert client.post("/suggest", json={**SUGGESTION, "s": "a" * 5_001}).status_code == 400
    assert [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] == [SUGGESTION, SUGGESTION]


def test_a_server_that_collects_none_refuses(client: httpx.Client) -> None:
    answer = client.post("/suggest", json=SUGGESTION)
    assert (answer.status_code, answer.json()) == (403, {"error": "This server collects no suggestions."})
    assert client.get("/frontend/settings").json()["suggestions"] is False


def test_a_file_that_cannot_be_written_is_noticed_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be written to"):
        SuggestionFile(tmp_path / "missing" / "suggestions.jsonl")


def test_the_file_does_not_grow_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestion_file, "MAX_BYTES", 100)
    file = SuggestionFile(tmp_path / "suggestions.jsonl")
    file.add({"q": "a" * 40})
    with pytest.raises(ApiError, match="as many suggestions"):
        file.add({"q": "a" * 80})
    assert (tmp_path / "suggestions.jsonl").stat().st_size < 100
