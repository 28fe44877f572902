"""Result folders appear whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from maskpredict.errors import UserError
from maskpredict.new_folder import new_folder, remove_folder


def make(out: Path, content: str, *, overwrite: bool = False) -> None:
    with new_folder(out, overwrite=overwrite, marker="marker") as folder:
        assert not (out / "marker").exists() or (out / "marker").read_text() != content
        (folder / "marker").write_text(content)


def test_the_folder_appears_when_the_work_is_done(tmp_path: Path) -> None:
    make(tmp_path / "deep" / "out", "first")
    assert (tmp_path / "deep" / "out" / "marker").read_text() == "first"
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]


@pytest.mark.parametrize("process", [os.getpid(), 1, 999_999_999], ids=["this", "first", "none"])
def test_what_a_killed_process_left_is_mentioned_and_removed(
    tmp_path: Path, process: int, caplog: pytest.LogCaptureFixture
) -> None:
    left = tmp_path / f"out.partial-maskpredict-{process}"
    left.mkdir()
    (left / "old").touch()
    make(tmp_path / "out", "new")
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "marker"]
    assert f"Removing {left}, which a killed process left unfinished." in caplog.text


def test_folders_of_others_stay(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    names = {"out.partial-2024", "out.partial", "other.partial-maskpredict-1", "out2.partial-maskpredict-1"}
    for name in names:
        (tmp_path / name).mkdir()
    make(tmp_path / "out", "new")
    assert {path.name for path in tmp_path.iterdir()} == {*names, "out"}
    assert caplog.text == ""


def test_a_folder_that_another_process_still_fills_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    program = f"""
import sys
from pathlib import Path
from maskpredict.new_folder import new_folder
with new_folder(Path({str(tmp_path / "out")!r}), overwrite=False, marker="m") as folder:
    (folder / "m").touch()
    print("begun", flush=True)
    sys.stdin.readline()
"""
    other = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "begun\n"
    make(tmp_path / "out", "new")
    assert caplog.text == ""
    assert len(list(tmp_path.glob("out.partial-maskpredict-*/m"))) == 1
    other.kill()
    other.communicate()
    make(tmp_path / "out", "newer", overwrite=True)
    assert "which a killed process left unfinished" in caplog.text
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


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


def test_of_several_that_make_the_same_folder_the_first_wins(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with new_folder(out, overwrite=False, marker="mark", first_wins=True) as slow:
        out.mkdir()  # as another process would make it meanwhile
        (out / "mark").write_text("first")
        (slow / "mark").write_text("second")
    assert (out / "mark").read_text() == "first"
    assert list(tmp_path.iterdir()) == [out]


def test_a_folder_of_something_else_is_not_taken_for_the_first(tmp_path: Path) -> None:
    def make_meanwhile() -> None:
        with new_folder(tmp_path / "out", overwrite=False, marker="mark", first_wins=True):
            (tmp_path / "out").mkdir()
            (tmp_path / "out" / "letter.txt").write_text("Dear Ada,")

    with pytest.raises(OSError, match="not empty"):
        make_meanwhile()
    assert (tmp_path / "out" / "letter.txt").read_text() == "Dear Ada,"


KILLED_WHILE_REPLACING = """
import os, signal, sys
from pathlib import Path
from maskpredict.new_folder import new_folder
def observe(event, values):
    if event == "os.rename" and ".partial-" in str(values[0]):
        os.kill(os.getpid(), signal.SIGKILL)
with new_folder(Path(sys.argv[1]), overwrite=True, marker="marker") as folder:
    (folder / "marker").write_text("new")
    sys.addaudithook(observe)
"""


def test_a_result_that_was_being_replaced_by_a_killed_process_comes_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make(tmp_path / "out", "earlier")
    subprocess.run([sys.executable, "-c", KILLED_WHILE_REPLACING, tmp_path / "out"])
    assert not (tmp_path / "out").exists(), "killed between its two renamings"
    with pytest.raises(UserError, match="is not empty"):
        make(tmp_path / "out", "new")
    assert (tmp_path / "out" / "marker").read_text() == "earlier"
    assert f"{tmp_path / 'out'} is restored; a process was killed while replacing it." in caplog.text
    make(tmp_path / "out", "new", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_earlier_result_that_was_replaced_but_not_removed_goes(tmp_path: Path) -> None:
    make(tmp_path / "out", "new")
    (tmp_path / "out.previous-maskpredict-1").mkdir()
    (tmp_path / "out.previous-maskpredict-1" / "marker").write_text("earlier")
    make(tmp_path / "out", "newer", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "marker").read_text() == "newer"


def test_a_folder_whose_removal_is_interrupted_does_not_look_like_a_result(tmp_path: Path) -> None:
    make(tmp_path / "out", "content")
    remove_folder(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    remove_folder(tmp_path / "out")  # nothing to remove
