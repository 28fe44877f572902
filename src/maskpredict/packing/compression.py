"""xz compression in blocks: each block is an xz stream, so several threads can compress one file in bounded memory."""

from __future__ import annotations

import lzma
import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

COMPRESSED_BLOCK = 8 << 20
"""Bytes per block: the dictionary size of xz."""
THREADS = min(8, os.cpu_count() or 1)
"""Compression threads; each uses about 100 MB and releases the GIL."""


def compress(content: Iterable[bytes]) -> Iterator[bytes]:
    """Compress to a sequence of xz streams."""
    pending: deque[Future[bytes]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        for block in _blocks(content, COMPRESSED_BLOCK):
            pending.append(pool.submit(lzma.compress, block))
            if len(pending) > THREADS:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def decompress(content: Iterable[bytes]) -> Iterator[bytes]:
    """Inverse of `compress`."""
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ)
    for block in content:
        while block:
            if decompressor.eof:
                decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ)
            yield decompressor.decompress(block, COMPRESSED_BLOCK)
            while not decompressor.eof and not decompressor.needs_input:
                yield decompressor.decompress(b"", COMPRESSED_BLOCK)
            block = decompressor.unused_data


def _blocks(content: Iterable[bytes], size: int) -> Iterator[bytes]:
    collected = bytearray()
    for piece in content:
        collected += piece
        while len(collected) >= size:
            yield bytes(collected[:size])
            del collected[:size]
    if collected:
        yield bytes(collected)
