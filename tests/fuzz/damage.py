"""Damage to bytes as hypothesis draws it, so that it can shrink what goes wrong to the least damage that does it."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

PAYLOADS = (
    b"\x00", b"\xff", b"\xed\xa0\x80", b"\xc2\x85", b"\n", b"\t", b" ", b'"', b"'", b"{", b"}", b"[", b"]", b"<", b">",
    b"&", b"-1", b"0", b"1e999", b"NaN", b"9" * 20, b"1000000000", b"null", b"true", b"../", b"/etc/passwd", b"%s",
    b"\\u0000", b"\\ud800", b"!!python/object/apply:os.system [x]", b"&x;", b"<!--", b"<b>", b"</b>", b"a" * 300,
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    """One of the seeds, with some bytes deleted, doubled, replaced or put in; or any bytes."""
    content = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 40)))
        middle = draw(st.sampled_from(PAYLOADS) | st.binary(max_size=8) | st.just(2 * content[start:end]))
        content = content[:start] + middle + content[end:]
    return content
