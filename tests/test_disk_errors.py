"""Full and failing disks are told from other errors, and named by what was being made or read."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors import SafetensorError

from maskpredict.checksums import checksum_of
from maskpredict.corpus.reading import read_lines
from maskpredict.disk_errors import DiskError, disk_error, explain_disk_errors
from maskpredict.distill.by_text.shards import SplitCorpus, TextShards
from maskpredict.json_file import read_json
from maskpredict.model.safetensors_file import SafetensorsFile
from maskpredict.training.checkpoint import STATE_FILE, RunState, keep_best


def failing() -> OSError:
    return OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_failing_disk_is_named_by_what_was_made_or_read() -> None:
    sentence = r"^the disk failed while out was made \(Input/output error\); mend it, and run the same command again\.$"
    with pytest.raises(DiskError, match=sentence), explain_disk_errors("out"):
        raise failing()
    with pytest.raises(DiskError, match="while data was read"), explain_disk_errors("data", "read"):
        raise failing()


def test_without_a_name_the_error_of_the_system_has_one_or_none() -> None:
    named = OSError(errno.EIO, os.strerror(errno.EIO), "a/file")
    assert "the disk failed at a/file (" in str(disk_error(named))
    assert "while a file was read or written" in str(disk_error(failing()))


def test_errors_of_the_weights_library_have_their_number_in_the_text() -> None:
    assert "disk failed" in str(disk_error(SafetensorError("Error: Input/output error (os error 5)")))
    assert "no room left" in str(disk_error(SafetensorError("I/O error: No space left on device (os error 28)")))


@pytest.mark.parametrize("error", [FileNotFoundError(errno.ENOENT, "x"), ValueError("5"), SafetensorError("bad")])
def test_other_errors_are_none_of_a_disk(error: Exception) -> None:
    assert disk_error(error) is None


def make_unreadable(path: Path) -> Path:
    """Put something in the place of a file that can be opened, and whose reading fails with EIO: address 0."""
    path.unlink(missing_ok=True)
    path.symlink_to("/proc/self/mem")
    return path


@pytest.mark.parametrize("read", [checksum_of, read_json, SafetensorsFile, lambda path: list(read_lines(path))])
def test_a_file_that_cannot_be_read_is_named(read: Callable[[Path], object], tmp_path: Path) -> None:
    path = make_unreadable(tmp_path / "file")
    with pytest.raises(DiskError, match=f"the disk failed while {path} was read"):
        read(path)


def test_a_checkpoint_that_cannot_be_read_is_not_removed_as_damaged(tmp_path: Path) -> None:
    keep_best(tmp_path, RunState(update=1), 0.5, {}, count=1)
    (kept,) = tmp_path.iterdir()
    make_unreadable(kept / STATE_FILE)
    with pytest.raises(DiskError):
        keep_best(tmp_path, RunState(update=2), 0.7, {}, count=1)
    assert list(tmp_path.iterdir()) == [kept]


def test_a_shard_that_cannot_be_read_is_not_made_again(tmp_path: Path) -> None:
    shards = TextShards(tmp_path, {"compression": "gz"}, [SplitCorpus("one", 1.0, references=False, shards=[1])])
    shards.write(0, {"counts.json": b"{}", "source.gz": b"s", "target.gz": b"t"})
    (shard,) = tmp_path.iterdir()
    make_unreadable(shard / "target.gz")
    with pytest.raises(DiskError):
        shards.remove_damaged(0, 1)
    assert list(tmp_path.iterdir()) == [shard]
