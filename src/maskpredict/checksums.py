"""Checksums of the files of a folder, which notice bits that flipped on a disk and files that were cut off.

FOLDER/checksums.json     the checksum of each other file, written last

They are CRC-32: enough against accidents, for which it misses one in four thousand million, and nothing against malice.
It reads a 54 MB file in 13 ms where SHA-256 takes 30 ms, or several times that on a CPU without instructions for it.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

from maskpredict.disk_errors import explain_disk_errors
from maskpredict.errors import UserError
from maskpredict.json_file import read_json

CHECKSUMS_FILE = "checksums.json"
_BLOCK = 1 << 20


def checksum_of(path: Path) -> str:
    """The checksum of a file, with the name of its kind in front, such as crc32:0a1b2c3d."""
    crc = 0
    with explain_disk_errors(path, "read"), path.open("rb") as file:
        while block := file.read(_BLOCK):
            crc = zlib.crc32(block, crc)
    return f"crc32:{crc:08x}"


def write_checksums(folder: Path) -> None:
    """Write the checksums of all files that are in a folder, but not in folders within it."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name != CHECKSUMS_FILE]
    content = {path.name: checksum_of(path) for path in files}
    (folder / CHECKSUMS_FILE).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def verify_file(path: Path, advice: str) -> None:
    """Refuse a file that is not as it was written, with advice on what to do.

    Files that folders of earlier versions have, without checksums, are accepted.
    """
    expected = _expected(path, advice)
    if expected is None:
        return
    if not path.is_file():
        raise UserError(f"{path} is missing; {advice}.")
    actual = checksum_of(path)
    if actual != expected:
        raise UserError(
            f"{path} is damaged: its checksum is {actual}, not {expected} as when it was written; {advice}."
        )


def _expected(path: Path, advice: str) -> str | None:
    record = path.with_name(CHECKSUMS_FILE)
    try:
        content = read_json(record)
        found = content.get(path.name)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError) as error:
        raise UserError(f"{record} is damaged; {advice}.") from error
    return None if found is None else str(found)
