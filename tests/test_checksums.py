"""A file that is not as it was written is refused, down to a single bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from maskpredict.checksums import Checksums, checksum_of, verify_file, write_checksums
from maskpredict.errors import UserError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with checksums of one file and of an empty one."""
    (tmp_path / "data").write_bytes(b"seven..")
    (tmp_path / "empty").touch()
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "file").touch()
    write_checksums(tmp_path)
    return tmp_path


def test_every_flipped_bit_and_every_cut_is_noticed(folder: Path) -> None:
    verify_file(folder / "data", "write it again")
    verify_file(folder / "empty", "write it again")
    content = (folder / "data").read_bytes()
    flipped = [bytes([*content[:i], content[i] ^ 1 << bit, *content[i + 1 :]]) for i in range(7) for bit in range(8)]
    for changed in (*flipped, *(content[:end] for end in range(7)), content + b"\0"):
        (folder / "data").write_bytes(changed)
        with pytest.raises(UserError, match=r"data is damaged: its checksum is crc32:.*; write it again\."):
            verify_file(folder / "data", "write it again")


def test_a_missing_file_is_noticed(folder: Path) -> None:
    (folder / "empty").unlink()
    with pytest.raises(UserError, match="empty is missing; write it again"):
        verify_file(folder / "empty", "write it again")


def test_torn_checksums_are_noticed(folder: Path) -> None:
    record = folder / "checksums.json"
    record.write_bytes(record.read_bytes()[:9])
    with pytest.raises(UserError, match=r"checksums\.json is damaged; write it again"):
        verify_file(folder / "data", "write it again")


def test_files_without_a_checksum_are_taken_as_they_are(folder: Path, tmp_path: Path) -> None:
    (folder / "later").write_text("added by hand")
    verify_file(folder / "later", "-")
    (folder / "checksums.json").unlink()
    (folder / "data").write_text("of an earlier version")
    verify_file(folder / "data", "-")
    assert checksum_of(folder / "empty") == "crc32:00000000"


def test_the_checksums_of_a_folder_are_read_once_for_all_its_files(folder: Path) -> None:
    checksums = Checksums(folder, "write it again")
    (folder / "checksums.json").unlink()
    checksums.verify("data")
    (folder / "empty").write_bytes(b"?")
    with pytest.raises(UserError, match="empty is damaged"):
        checksums.verify("empty")
