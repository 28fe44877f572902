"""`pack`: writes a folder as parts with a manifest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from maskpredict.checksums import CHECKSUMS_FILE
from maskpredict.errors import UserError
from maskpredict.new_folder import new_folder
from maskpredict.packing.compression import compress
from maskpredict.packing.half_precision import OPTIMIZER_FILE, to_half_precision, without_checksum
from maskpredict.packing.manifest import BLOCK, SUFFIX, Encoding, Manifest, Member, PartFile
from maskpredict.progress import Progress

PART_SIZE = 16 << 20
COMPRESSED = {".ids", ".offsets", ".txt", ".jsonl"}
"""Suffixes of files to compress; weights are not compressible."""
_UNFINISHED = (".partial-", ".previous-")
"""Substrings in the names of unfinished folders (see new_folder.py)."""


def pack(
    folder: Path,
    out: Path,
    *,
    part_size: int = PART_SIZE,
    precision: Literal["float32", "float16"] = "float32",
    without_optimizer: bool = False,
    progress: Progress | None = None,
) -> Manifest:
    """Write the files of `folder` as parts of at most `part_size` bytes into the new folder `out`.

    With `precision` float16, weights are rounded and take half the space; float32 stores them unchanged. Without the
    optimizer state, a training run continues with a short warm-up (`TrainConfig.rewarmup`).
    """
    if part_size < 1:
        raise UserError(f"the part size is {part_size} bytes; use 1 or more.")
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder} to pack.")
    if out.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"{out} is inside the folder to pack; choose a folder outside it.")
    files = _files(folder, without_optimizer)
    if not files:
        raise UserError(f"{folder} has no files to pack.")
    task = (progress or Progress(quiet=True)).task("Packing", total=len(files))
    name = folder.resolve().name
    with new_folder(out, overwrite=False, marker=f"{name}{SUFFIX}") as partial:
        parts, members = _PartWriter(partial, name, part_size), []
        for path in files:
            try:
                members.append(_pack_file(path, path.relative_to(folder).as_posix(), precision, parts))
            except FileNotFoundError as error:
                raise UserError(
                    f"{path} disappeared while packing; wait until nothing writes to {folder}, then pack again."
                ) from error
            task.advance()
        manifest = Manifest(name, parts.close(), tuple(members))
        manifest.write(partial)
    task.finish()
    return manifest


def _files(folder: Path, without_optimizer: bool) -> list[Path]:
    files = []
    for path in sorted(folder.rglob("*")):
        unfinished = any(mark in part for part in path.relative_to(folder).parts for mark in _UNFINISHED)
        excluded = without_optimizer and path.name == OPTIMIZER_FILE
        if path.is_file() and not unfinished and not excluded:
            files.append(path)
    return files


def _pack_file(path: Path, name: str, precision: str, parts: _PartWriter) -> Member:
    content = _HashedBlocks(_in_half_precision(path) if precision == "float16" else _blocks(path))
    encoding: Encoding = "xz" if path.suffix in COMPRESSED else "stored"
    before = parts.total
    for block in compress(content) if encoding == "xz" else content:
        parts.write(block)
    return Member(name, content.size, content.sha256.hexdigest(), encoding, parts.total - before)


def _in_half_precision(path: Path) -> Iterator[bytes]:
    if path.suffix == ".safetensors":
        return to_half_precision(path)
    return without_checksum(path) if path.name in ("config.json", CHECKSUMS_FILE) else _blocks(path)


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


class _HashedBlocks:
    """Iterates over blocks and computes their total size and SHA-256."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self.size, self.sha256 = blocks, 0, hashlib.sha256()

    def __iter__(self) -> Iterator[bytes]:
        for block in self._blocks:
            self.size += len(block)
            self.sha256.update(block)
            yield block


class _PartWriter:
    """Writes a stream of bytes as files of `size` bytes."""

    def __init__(self, folder: Path, name: str, size: int) -> None:
        self._folder, self._name, self._size = folder, name, size
        self._parts: list[PartFile] = []
        self._room, self._sum = 0, hashlib.sha256()
        self.total = 0

    def write(self, block: bytes) -> None:
        """Append to the stream."""
        view = memoryview(block)
        while view:
            if not self._room:
                self._begin()
            fitting = view[: self._room]
            self._file.write(fitting)
            self._sum.update(fitting)
            self._room -= len(fitting)
            self.total += len(fitting)
            view = view[len(fitting) :]
            if not self._room:
                self._end()

    def close(self) -> tuple[PartFile, ...]:
        """Finish the last part; returns all parts."""
        if self._room:
            self._end()
        return tuple(self._parts)

    def _begin(self) -> None:
        self._file = (self._folder / f"{self._name}.part{len(self._parts):03d}").open("wb")
        self._room, self._sum = self._size, hashlib.sha256()

    def _end(self) -> None:
        self._file.close()
        path = Path(self._file.name)
        self._parts.append(PartFile(path.name, path.stat().st_size, self._sum.hexdigest()))
        self._room = 0
