"""Compressed files of text, by the ending of their name: .gz, .bz2, .xz and .zst.

All four formats may be concatenated: the content of `cat a.zst b.zst` is that of a followed by that of b.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from maskpredict.extras import require

ZSTD_LEVEL, XZ_PRESET = 10, 6
"""Levels at which text is compressed faster than any model writes it."""
COMPRESSED_BLOCK = 1 << 9
"""Bytes that are read from a .zst file at once: they become up to 17 MB."""


def open_compressed(path: Path) -> BinaryIO:
    """Open a plain or compressed file for reading."""
    openers: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zst": _open_zstd}
    # The decompressors read lines slowly by themselves; a buffer in front doubles their speed.
    return cast(BinaryIO, io.BufferedReader(openers.get(path.suffix, open)(path, "rb")))


def compress(text: bytes, suffix: str) -> bytes:
    """Text as the content of a file with this ending of its name: .gz, .bz2, .xz, .zst, or any other for plain text."""
    content = io.BytesIO()
    with compressing(content, suffix) as stream:
        stream.write(text)
    return content.getvalue()


def decompress(content: bytes, suffix: str) -> bytes:
    """The text of a file with this content and this ending of its name."""
    readers: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.decompress,
        ".bz2": bz2.decompress,
        ".xz": lzma.decompress,
        ".zst": _decompress_zstd,
    }
    return readers.get(suffix, bytes)(content)


@contextmanager
def compressing(stream: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    """A stream whose content is compressed into another one; that itself, if the suffix names no compression."""
    writers: dict[str, Callable[[BinaryIO], Any]] = {
        ".gz": lambda out: gzip.GzipFile("", "wb", fileobj=out, mtime=0),
        ".bz2": partial(bz2.BZ2File, mode="wb"),
        ".xz": partial(lzma.LZMAFile, mode="wb", preset=XZ_PRESET),
        ".zst": _zstd_writer,
    }
    if suffix not in writers:
        yield stream
        return
    with writers[suffix](stream) as compressed:
        yield compressed


def decompression_errors() -> tuple[type[Exception], ...]:
    """Errors that mean that a compressed file is damaged."""
    try:
        from zstandard import ZstdError
    except ImportError:  # then no .zst file is open
        return (EOFError, OSError, zlib.error, lzma.LZMAError)
    return (EOFError, OSError, zlib.error, lzma.LZMAError, ZstdError)


def _open_zstd(path: Path, mode: str) -> io.RawIOBase:
    require("train", f"reading {path}", ["zstandard"])
    return _ZstdReader(path.open(mode))


def _decompress_zstd(content: bytes) -> bytes:
    require("train", "reading .zst files", ["zstandard"])
    return io.BufferedReader(_ZstdReader(io.BytesIO(content))).read()


class _ZstdReader(io.RawIOBase):
    """Decompresses zstd frames one after another, and raises `EOFError` if the last one is cut off.

    zstandard's own readers end there without an error.
    """

    def __init__(self, file: IO[bytes]) -> None:
        import zstandard

        self._file, self._frames = file, zstandard.ZstdDecompressor()
        self._frame: Any = None
        self._compressed, self._ready = b"", memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            self._compressed = self._compressed or self._file.read(COMPRESSED_BLOCK)
            if not self._compressed:
                if self._frame is not None:
                    raise EOFError("the last zstd frame is cut off")
                return 0
            self._frame = self._frame or self._frames.decompressobj()
            self._ready = memoryview(self._frame.decompress(self._compressed))
            self._compressed = self._frame.unused_data
            if self._frame.eof:
                self._frame = None
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def close(self) -> None:
        self._file.close()
        super().close()


def _zstd_writer(stream: BinaryIO) -> Any:
    require("train", "writing .zst files", ["zstandard"])
    import zstandard

    return zstandard.ZstdCompressor(level=ZSTD_LEVEL).stream_writer(stream, closefd=False)
