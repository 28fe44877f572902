"""Files of a shard as bytes, by name: the sources that a worker gets, and the finished shard that it returns.

Bytes are all that workers on other machines exchange, so that those need no common file system.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from maskpredict.corpus.compressed import compress, decompress
from maskpredict.corpus.reading import Pair
from maskpredict.distill.by_text.filters import Dropped
from maskpredict.distill.by_text.sources import NO_REFERENCE

COUNTS_FILE = "counts.json"
SOURCE, TARGET, REFERENCE = "source", "target", "reference"
STORED = ".zst"
"""Compression of the sources of shards."""

ShardFiles = Mapping[str, bytes]
"""Content by the name of the file."""


def pack_sources(pairs: Sequence[Pair], *, references: bool) -> dict[str, bytes]:
    """The files of the sources of a shard, and of their references."""
    sides = {SOURCE: [pair.source for pair in pairs]}
    if references:
        sides[REFERENCE] = [pair.target for pair in pairs]
    return {f"{side}{STORED}": compress(_text(lines), STORED) for side, lines in sides.items()}


def unpack_sources(files: ShardFiles) -> list[Pair]:
    """The sources and references of a shard; `NO_REFERENCE` without them."""
    sides = {Path(name).stem: _lines(content, Path(name).suffix) for name, content in files.items()}
    references = sides.get(REFERENCE, [NO_REFERENCE] * len(sides[SOURCE]))
    return list(map(Pair, sides[SOURCE], references))


def pack_shard(pairs: Sequence[Pair], dropped: Counter[Dropped], compression: str) -> dict[str, bytes]:
    """The files of a finished shard."""
    sides = {SOURCE: [pair.source for pair in pairs], TARGET: [pair.target for pair in pairs]}
    counts = {"pairs": len(pairs), "dropped": {reason.value: count for reason, count in dropped.items()}}
    files = {f"{side}.{compression}": compress(_text(lines), f".{compression}") for side, lines in sides.items()}
    return {**files, COUNTS_FILE: json.dumps(counts).encode()}


def _text(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _lines(content: bytes, suffix: str) -> list[str]:
    return decompress(content, suffix).decode("utf-8").split("\n")[:-1]
