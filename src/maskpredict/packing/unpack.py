"""`unpack`: restores a packed folder and verifies its checksums."""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Iterator
from pathlib import Path

from maskpredict.errors import UserError
from maskpredict.new_folder import new_folder
from maskpredict.packing.compression import decompress
from maskpredict.packing.manifest import BLOCK, SUFFIX, Manifest, Member, PartFile
from maskpredict.progress import Progress


def unpack(parts_folder: Path, out: Path, *, progress: Progress | None = None) -> Manifest:
    """Restore the folder packed in `parts_folder`, a folder or the path of a manifest, as the new folder `out`."""
    path = _find_manifest(parts_folder)
    manifest = Manifest.read(path)
    _refuse_missing(manifest, path.parent)
    task = (progress or Progress(quiet=True)).task("Unpacking", total=len(manifest.members))
    with new_folder(out, overwrite=False, marker=path.name) as partial:
        stream = _PartReader(path.parent, manifest.parts)
        for member in manifest.members:
            _unpack_file(stream, member, partial / member.path, path)
            task.advance()
        stream.finish(path)
    task.finish()
    return manifest


def _find_manifest(folder: Path) -> Path:
    if folder.is_file():
        return folder
    manifests = sorted(folder.glob(f"*{SUFFIX}"))
    if not manifests:
        raise UserError(f"{folder} has no *{SUFFIX}; transfer it together with the parts.")
    if len(manifests) > 1:
        raise UserError(f"{folder} has several manifests; name one of them, such as {manifests[0]}.")
    return manifests[0]


def _refuse_missing(manifest: Manifest, folder: Path) -> None:
    missing = [part.name for part in manifest.parts if not (folder / part.name).is_file()]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise UserError(f"{folder / missing[0]}{more} is missing; transfer it and unpack again.")
    for part in manifest.parts:
        size = (folder / part.name).stat().st_size
        if size != part.size:
            raise UserError(f"{folder / part.name} has {size:,} bytes, not {part.size:,}; transfer it again.")


def _unpack_file(stream: _PartReader, member: Member, target: Path, manifest: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    content = stream.take(member.packed_size)
    total = hashlib.sha256()
    try:
        with target.open("xb") as file:
            for block in decompress(content) if member.encoding == "xz" else content:
                file.write(block)
                total.update(block)
                if file.tell() > member.size:  # before it fills the disk
                    raise _disagreement(manifest, member.path)
    except (lzma.LZMAError, EOFError, FileExistsError) as error:
        raise _disagreement(manifest, member.path) from error
    if total.hexdigest() != member.sha256 or target.stat().st_size != member.size:
        raise _disagreement(manifest, member.path)


def _disagreement(manifest: Path, what: str) -> UserError:
    return UserError(f"{manifest} does not describe its parts ({what} comes out wrong); transfer it again.")


class _PartReader:
    """Reads the parts as one stream of bytes; verifies each part before its first byte is used."""

    def __init__(self, folder: Path, parts: tuple[PartFile, ...]) -> None:
        self._blocks, self._unread = _verified_blocks(folder, parts), b""

    def take(self, size: int) -> Iterator[bytes]:
        """The next `size` bytes, or fewer at the end of the stream."""
        while size:
            block = self._unread or next(self._blocks, b"")
            if not block:
                return
            yield block[:size]
            self._unread = block[size:]
            size -= min(size, len(block))

    def finish(self, manifest: Path) -> None:
        """Raise `UserError` if the parts hold more than the files of the manifest."""
        if self._unread or next(self._blocks, b""):
            raise _disagreement(manifest, "the end")


def _verified_blocks(folder: Path, parts: tuple[PartFile, ...]) -> Iterator[bytes]:
    for part in parts:
        path = folder / part.name
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != part.sha256:
                raise UserError(f"{path} is damaged: its SHA-256 is not the manifest's; transfer it again.")
            file.seek(0)
            while block := file.read(BLOCK):
                yield block
