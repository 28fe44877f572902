"""Byte-pair encoding with a given list of merges, in the file format of subword-nmt (Sennrich et al., 2016).

A word starts as its characters; the pair of neighbours that comes first in the list is joined wherever it stands, again
and again until no pair is in the list. The end of a word takes part: it is written `</w>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from maskpredict.errors import UserError

_END = "</w>"
_VERSION = "#version:"
_REMEMBERED_WORDS = 100_000


class BytePairs:
    """An ordered list of merges."""

    def __init__(self, merges: Sequence[tuple[str, str]], *, end_attached: bool = True) -> None:
        """`end_attached`: a word's end is part of its last character (version 0.2), not one of its own (0.1)."""
        self.merges, self.end_attached = tuple(merges), end_attached
        # Of a pair that is listed twice, the first place counts.
        self._rank = {pair: rank for rank, pair in reversed(list(enumerate(self.merges)))}
        self.cut = lru_cache(_REMEMBERED_WORDS)(self._cut)

    @classmethod
    def read(cls, path: Path) -> BytePairs:
        """Read a codes file."""
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"the BPE codes {path} cannot be read ({error}).") from error
        version = lines.pop(0).removeprefix(_VERSION).strip() if lines[0].startswith(_VERSION) else None
        merges = [tuple(line.rstrip("\r").split(" ")) for line in lines if line.strip()]
        if not merges or any(len(merge) not in (2, 3) for merge in merges):
            raise UserError(f"{path} is not a file of BPE codes; each line must hold the two parts of one merge.")
        # A third column holds counts; the programs that write it have no version line and attach the end.
        attached = version != "0.1" if version else len(merges[0]) == 3
        return cls([(merge[0], merge[1]) for merge in merges], end_attached=attached)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by content, without the remembered words."""
        return _restored, (self.merges, self.end_attached)

    def _cut(self, word: str) -> tuple[str, ...]:
        """The subwords of one word, without marks."""
        parts = [*word[:-1], word[-1] + _END] if self.end_attached else [*word, _END]
        while len(parts) > 1:
            pair = min(pairwise(parts), key=lambda pair: self._rank.get(pair, len(self.merges)))
            if pair not in self._rank:
                break
            parts = _joined(parts, pair)
        *front, last = parts
        last = last.removesuffix(_END)
        return (*front, last) if last else tuple(front)


def _joined(parts: list[str], pair: tuple[str, str]) -> list[str]:
    joined: list[str] = []
    remaining = iter(range(len(parts)))
    for place in remaining:
        if tuple(parts[place : place + 2]) == pair:
            joined.append(pair[0] + pair[1])
            next(remaining)
        else:
            joined.append(parts[place])
    return joined


def _restored(merges: tuple[tuple[str, str], ...], end_attached: bool) -> BytePairs:
    return BytePairs(merges, end_attached=end_attached)
