"""Result folders appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from maskpredict.errors import UserError
from maskpredict.new_folder import new_folder


def make(out: Path, content: str, *, overwrite: bool = False) -> None:
    with new_folder(out, overwrite=overwrite, marker="marker") as folder:
        assert not (out / "marker").exists() or (out / "marker").read_text() != content
        (folder / "marker").write_text(content)


def test_the_folder_appears_when_the_work_is_done(tmp_path: Path) -> None:
    make(tmp_path / "deep" / "out", "first")
    assert (tmp_path / "deep" / "out" / "marker").read_text() == "first"
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]


def test_what_an_earlier_killed_run_left_is_not_mixed_in(tmp_path: Path) -> None:
    stale = tmp_path / f"out.partial-{os.getpid()}"
    stale.mkdir()
    (stale / "old").touch()
    make(tmp_path / "out", "new")
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "marker"]


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    make(tmp_path / "real", "first")
    (tmp_path / "link").symlink_to("real")
    make(tmp_path / "link", "second", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "marker").read_text() == "second"


def test_a_place_that_cannot_hold_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="exists and is not a folder"):
        make(tmp_path / "file", "x")
    with pytest.raises(UserError, match="cannot be made"):
        make(tmp_path / "file" / "out", "x")


def test_an_error_within_passes_through_and_removes_what_was_written(tmp_path: Path) -> None:
    def fail() -> None:
        with new_folder(tmp_path / "out", overwrite=False, marker="m") as folder:
            (folder / "m").touch()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []
