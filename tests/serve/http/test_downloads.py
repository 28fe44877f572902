"""Translated files are kept for some minutes, and not too many of them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from maskpredict.serve.http import downloads
from maskpredict.serve.http.downloads import KEPT_SECONDS, RETRY_SECONDS, DownloadStore
from maskpredict.serve.http.errors import ApiError


def test_a_stored_text_is_found_under_its_name_alone(tmp_path: Path) -> None:
    store = DownloadStore(tmp_path / "store")
    store.folder.mkdir()
    path = store.find(store.add("schön\r\n".encode(), ".txt"))
    assert path is not None
    assert path.read_bytes() == "schön\r\n".encode()
    assert store.find("x" * 43 + ".txt") is None
    (tmp_path / "secret.txt").write_text("secret")
    assert store.find("../secret.txt") is None


def test_an_expired_file_is_deleted(tmp_path: Path) -> None:
    store = DownloadStore(tmp_path)
    name = store.add(b"text", ".docx")
    almost, expired = time.monotonic() - KEPT_SECONDS + 30, time.monotonic() - KEPT_SECONDS - 1
    os.utime(tmp_path / name, (almost, almost))
    assert store.find(name) == tmp_path / name
    os.utime(tmp_path / name, (expired, expired))
    assert store.find(name) is None
    assert list(tmp_path.iterdir()) == []


def test_a_full_store_rejects_files_until_others_expire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "MAX_BYTES", 10)
    store = DownloadStore(tmp_path)
    name = store.add(b"123456", ".txt")
    with pytest.raises(ApiError, match="too many files") as error:
        store.add(b"78901", ".txt")
    assert (error.value.status, error.value.retry_after) == (503, RETRY_SECONDS)
    expired = time.monotonic() - KEPT_SECONDS - 1
    os.utime(tmp_path / name, (expired, expired))
    assert store.find(store.add(b"78901", ".txt")) is not None
