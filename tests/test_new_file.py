"""Files appear whole or not at all, and a place that cannot be written gets one sentence."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from maskpredict.errors import UserError
from maskpredict.new_file import new_file


def write(path: Path, content: bytes) -> None:
    with new_file(path) as file:
        file.write(content)


def test_the_file_appears_when_the_work_is_done(tmp_path: Path) -> None:
    with new_file(tmp_path / "out") as file:
        file.write(b"new")
        assert not (tmp_path / "out").exists()
    assert (tmp_path / "out").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    write(tmp_path / "out", b"earlier")

    def fail() -> None:
        with new_file(tmp_path / "out") as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (tmp_path / "out").read_bytes() == b"earlier"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_full_disk_gets_one_sentence_with_the_name_of_the_file(tmp_path: Path) -> None:
    def fill() -> None:
        with new_file(tmp_path / "out"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(UserError, match=r"no room left to write .*out; free some disk space"):
        fill()
    assert list(tmp_path.iterdir()) == []


def test_a_file_within_a_file_gets_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"file/out cannot be written: Not a directory\.$"):
        write(tmp_path / "file" / "out", b"x")


def test_a_read_only_folder_gets_one_sentence(read_only_folder: Path) -> None:
    with pytest.raises(UserError, match="out cannot be written: "):
        write(read_only_folder / "out", b"x")


def test_what_a_killed_run_left_is_deleted_by_name(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from maskpredict.new_file import new_file\n"
        "with new_file(Path(sys.argv[1])): os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "out"])
    (leftover,) = tmp_path.iterdir()
    write(tmp_path / "out", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert f"{leftover} was left by a run that was killed; it is deleted." in caplog.text


def test_what_another_run_still_writes_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    code = (
        "import sys; from pathlib import Path; from maskpredict.new_file import new_file\n"
        "with new_file(Path(sys.argv[1])) as file: print('open', flush=True); input(); file.write(b'theirs')"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "out")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        write(tmp_path / "out", b"ours")
        other.communicate("go on\n")
    assert (tmp_path / "out").read_bytes() == b"theirs"
    assert caplog.text == ""


def test_processes_that_write_one_file_again_and_again_do_not_disturb_each_other(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from maskpredict.new_file import new_file\n"
        "for _ in range(200):\n"
        "    with new_file(Path(sys.argv[1])) as file: file.write(b'whole')"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "out")]) for _ in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert (tmp_path / "out").read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
