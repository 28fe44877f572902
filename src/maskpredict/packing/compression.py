"""xz, a block at a time: each block is a whole xz stream, so several threads can share a file, in bounded memory."""

from __future__ import annotations

import lzma
import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

COMPRESSED_BLOCK = 8 << 20
"""Bytes compressed on their own: as much as xz looks back."""
THREADS = min(8, os.cpu_count() or 1)
"""Each holds about 100 MB while it compresses; Python's lock is free meanwhile."""


def compress(content: Iterable[bytes]) -> Iterator[bytes]:
    """The content as xz streams, in order."""
    waiting: deque[Future[bytes]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        for block in _blocks(content, COMPRESSED_BLOCK):
            waiting.append(pool.submit(lzma.compress, block))
            if len(waiting) > THREADS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def decompress(content: Iterable[bytes]) -> Iterator[bytes]:
    """What `compress` was given."""
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ)
    for block in content:
        while block:
            if decompressor.eof:
                decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ)
            yield decompressor.decompress(block)
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
