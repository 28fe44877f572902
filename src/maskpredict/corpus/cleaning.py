"""Filters of training pairs, each with a count of the pairs it dropped.

The cheap filters look at the text before it is encoded, the others at the number of subwords. Valid and test
sets are never cleaned: a score must be over every sentence.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import numpy as np
import numpy.typing as npt

from maskpredict.bounds import Bounds, NonNegativeInt, PositiveInt
from maskpredict.config import check_bounds
from maskpredict.corpus.reading import Pair


@dataclass(frozen=True)
class CleaningConfig:
    """Limits of the filters."""

    max_characters: PositiveInt = 2_000
    """Drop a pair with a longer side, in characters, without spending time on encoding it."""
    max_tokens: PositiveInt = 250
    """Drop a pair with a longer side, in subwords."""
    max_ratio: Annotated[float, Bounds(at_least=1)] = 3.0
    """Drop a pair whose longer side has more than this many times the subwords of the shorter."""
    ratio_from: NonNegativeInt = 10
    """Apply `max_ratio` only if the longer side has at least this many subwords; short pairs vary freely."""
    drop_duplicates: bool = True
    """Drop every exact repetition of an earlier pair, across all training corpora."""
    drop_identical: bool = False
    """Drop a pair whose sides are equal: usually untranslated text."""

    def __post_init__(self) -> None:
        check_bounds(self)


class DropReason(StrEnum):
    """Reasons to drop a pair; a pair is counted once, under the first that applies."""

    EMPTY = "empty"
    TOO_MANY_CHARACTERS = "too many characters"
    IDENTICAL = "identical sides"
    DUPLICATE = "duplicate"
    TOO_MANY_TOKENS = "too many tokens"
    RATIO = "length ratio"


class Cleaner:
    """All filters, with the digests of pairs seen so far and a count of dropped pairs."""

    def __init__(self, config: CleaningConfig) -> None:
        self._config = config
        self._seen = DigestSet()
        self.dropped: Counter[DropReason] = Counter()
        """Pairs dropped since the start, by reason."""

    def clean_text(self, pairs: Sequence[Pair]) -> list[Pair]:
        """The pairs of a block that pass the filters on text."""
        reasons = [text_reason(pair, self._config) for pair in pairs]
        self.dropped.update(reason for reason in reasons if reason)
        kept = [pair for pair, reason in zip(pairs, reasons, strict=True) if reason is None]
        if not self._config.drop_duplicates or not kept:
            return kept
        is_new = self._seen.add(np.array([_digest(pair) for pair in kept], dtype=np.uint64))
        self.dropped[DropReason.DUPLICATE] += int((~is_new).sum())
        return [pair for pair, new in zip(kept, is_new, strict=True) if new]

    def keep_lengths(self, source: npt.NDArray[np.int64], target: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Mask of the pairs of a block that pass the filters on length, given the subwords of each side."""
        shorter, longer = np.minimum(source, target), np.maximum(source, target)
        checks = {
            DropReason.EMPTY: shorter == 0,
            DropReason.TOO_MANY_TOKENS: longer > self._config.max_tokens,
            DropReason.RATIO: (longer >= self._config.ratio_from) & (longer > self._config.max_ratio * shorter),
        }
        keep = np.ones(len(source), dtype=np.bool_)
        for reason, unfit in checks.items():
            self.dropped[reason] += int((keep & unfit).sum())
            keep &= ~unfit
        return keep


def text_reason(pair: Pair, config: CleaningConfig) -> DropReason | None:
    """Reason to drop a pair because of its text alone; None to keep it."""
    if not pair.source or not pair.target or pair.source.isspace() or pair.target.isspace():
        return DropReason.EMPTY
    if max(len(pair.source), len(pair.target)) > config.max_characters:
        return DropReason.TOO_MANY_CHARACTERS
    if config.drop_identical and pair.source.strip() == pair.target.strip():
        return DropReason.IDENTICAL
    return None


def _digest(pair: Pair) -> int:
    # The separator cannot occur in a line, so different pairs give different bytes.
    return text_digest(f"{pair.source}\n{pair.target}")


def text_digest(text: str) -> int:
    """A digest of 64 bits, for a `DigestSet`."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


class DigestSet:
    """A set of 64-bit digests that takes 8 bytes an entry (16 while arrays are merged).

    A Python set of ints would take about 100. The entries lie in a few sorted arrays; a new block becomes an
    array of its own, and arrays of similar size are merged, so there are never more than about log2(blocks).
    Among 10 million pairs, the chance that any two different ones share a digest is about 3 in a million.
    """

    def __init__(self) -> None:
        self._runs: list[npt.NDArray[np.uint64]] = []

    def add(self, digests: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Add a block of digests; returns True for each that is new, duplicates within the block included."""
        is_new = np.zeros(len(digests), dtype=np.bool_)
        is_new[np.unique(digests, return_index=True)[1]] = True
        for run in self._runs:
            places = np.searchsorted(run, digests)
            is_new &= run[np.minimum(places, len(run) - 1)] != digests
        if is_new.any():
            self._runs.append(np.sort(digests[is_new]))
        while len(self._runs) > 1 and len(self._runs[-2]) <= 2 * len(self._runs[-1]):
            merged = np.concatenate([self._runs.pop(), self._runs.pop()])
            merged.sort(kind="stable")
            self._runs.append(merged)
        return is_new
