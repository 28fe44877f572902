"""Random changes to bytes that know a little of what files look like: words, numbers, tags, and what is in brackets.

Changes of bytes without regard to that, as libFuzzer makes them, mostly end in the parser of a JSON or XML file.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from tests.fuzz.damage import PAYLOADS

_PARTS = re.compile(
    rb"<[^<>]{1,99}>|\"[^\"\n]{0,80}\"|[A-Za-z_][\w.-]*"
    rb"|-?\d+(?:\.\d+)?|\{[^{}]{0,200}\}|\[[^\[\]]{0,200}\]|[^\n]+\n"
)
_VALUES = (
    *PAYLOADS, b"-5", b"1", b"2", b"65536", b"4294967296", b"18446744073709551616", b"1e308", b"-Infinity", b"[]",
    b"{}", b'""', b'"x"', b"[[1]]", b'{"a": 1}', b"false", b"x", b"UTF-7", b"utf-16", b"punycode",
)  # fmt: skip


def mutate(content: bytes, max_bytes: int, seed: int, plain: Callable[[bytes, int], bytes]) -> bytes:
    """Change the content a few times; `plain` is a way that knows nothing of files."""
    chance = random.Random(seed)
    if chance.random() < 0.4:
        return plain(content, max_bytes)
    for _ in range(chance.choice((1, 1, 2, 4))):
        content = _changed(content, chance)
    return content[:max_bytes]


def mutate_bytes(content: bytes, max_bytes: int, chance: random.Random) -> bytes:
    """Delete, put in, double, replace or flip a few bytes anywhere."""
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 8))):
        start = chance.randrange(len(changed) + 1)
        end = start + chance.choice((0, 1, 1, 4, 30))
        new = chance.choice(
            (b"", chance.randbytes(1), chance.randbytes(4), chance.choice(_VALUES), changed[start:end] * 2)
        )
        if changed[start:end] and chance.random() < 0.3:
            new = bytes((changed[start] ^ 1 << chance.randrange(8),)) + changed[start + 1 : end]
        changed[start:end] = new
    return bytes(changed[:max_bytes])


def _changed(content: bytes, chance: random.Random) -> bytes:
    parts = [match.span() for match in _PARTS.finditer(content[:20_000])]
    if not parts:
        return content + chance.choice(_VALUES)
    start, end = chance.choice(parts)
    other = content[slice(*chance.choice(parts))]
    part = content[start:end]
    new = chance.choice((chance.choice(_VALUES), other, b"", 2 * part, 30 * part[:100], part + other, _quoted(part)))
    return content[:start] + new + content[end:]


def _quoted(part: bytes) -> bytes:
    return part[1:-1] if part[:1] in b"\"'[{<" else b'"' + part + b'"'
