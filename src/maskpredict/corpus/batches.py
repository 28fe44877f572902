"""Batches of an epoch, padded or packed.

Everything is a function of (seed, epoch), so a run can resume at any batch, and several processes agree on the order
without communication. Two layouts, see `model/layout.py`:

- `PaddedBatches`: pairs of similar length in rows of a few fixed widths, under a budget of tokens;
- `PackedBatches`: pairs in random order concatenated up to a fixed number of tokens, so that every batch of a run has
  the same shape and hardly any padding.

Lengths here count the end mark. With `slot`, one position is reserved in front of every source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from maskpredict.corpus.dataset import ParallelIds
from maskpredict.corpus.ids import IdsFile
from maskpredict.errors import UserError
from maskpredict.special_ids import SpecialIds

Index = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Side:
    """One side of a batch. Padded: ids [rows, width]; packed: ids [tokens]."""

    ids: Index
    lengths: Index
    """Length of each row; with a slot, that position is counted."""


@dataclass(frozen=True)
class PairArrays:
    """A batch before it is put on a device."""

    source: Side
    target: Side
    real_rows: int
    """Rows that are sentences; the others are padding (packed batches only)."""
    packed: bool

    @property
    def target_tokens(self) -> int:
        """Target tokens without padding."""
        return int(self.target.lengths[: self.real_rows].sum())


class Batches(Protocol):
    """The batches of every epoch."""

    def plan(self, epoch: int) -> list[Index]:
        """The pairs of each batch of an epoch."""

    def arrays(self, pairs: Index) -> PairArrays:
        """The batch made of these pairs."""


def epoch_order(split: ParallelIds, seed: int, epoch: int) -> Index:
    """The pairs of an epoch in random order: a corpus of weight 2.5 comes twice, and half of it a third time."""
    rng = np.random.default_rng([seed, epoch])
    chosen = []
    for part in split.corpora:
        pairs = np.arange(part.first, part.first + part.pairs)
        repeats, fraction = divmod(part.weight, 1.0)
        chosen += [pairs] * int(repeats)
        if fraction:
            chosen.append(rng.permutation(pairs)[: round(fraction * part.pairs)])
    order = np.concatenate(chosen) if chosen else np.arange(0)
    rng.shuffle(order)
    return order


class PaddedBatches:
    """Length-bucketed batches of at most `tokens` target positions, padding included."""

    def __init__(
        self, split: ParallelIds, special: SpecialIds, *, tokens: int, max_length: int, slot: bool, seed: int
    ) -> None:
        self.split, self.special, self.slot, self.seed, self.tokens = split, special, slot, seed, tokens
        self.widths = _widths(max_length)
        longer = np.maximum(split.source.lengths, split.target.lengths) + 1
        self.bucket_of = np.where(longer <= max_length, np.searchsorted(self.widths, longer), len(self.widths))
        """Bucket of each pair; one past the last for pairs longer than `max_length`, which are skipped."""
        if not (self.bucket_of < len(self.widths)).any():
            raise UserError(f"no training pair is at most {max_length} subwords long; raise max_length.")

    def plan(self, epoch: int) -> list[Index]:
        """The pairs of each batch of an epoch."""
        order = epoch_order(self.split, self.seed, epoch)
        batches: list[Index] = []
        for bucket, width in enumerate(self.widths):
            pairs = order[self.bucket_of[order] == bucket]
            rows = max(1, self.tokens // int(width))
            batches += [pairs[first : first + rows] for first in range(0, len(pairs), rows)]
        shuffle = np.random.default_rng([self.seed, epoch, 1]).permutation(len(batches))
        return [batches[i] for i in shuffle]

    def arrays(self, pairs: Index) -> PairArrays:
        """The batch made of these pairs."""
        width = int(self.widths[self.bucket_of[pairs].max()])
        return PairArrays(
            self._padded_side(self.split.source, pairs, width, self.slot),
            self._padded_side(self.split.target, pairs, width, False),
            len(pairs),
            packed=False,
        )

    def _padded_side(self, side: IdsFile, pairs: Index, width: int, slot: bool) -> Side:
        front = int(slot)
        lengths = side.lengths[pairs] + 1 + front
        ids = np.full((len(pairs), width + front), self.special.pad, np.int64)
        filled = np.arange(width + front) < lengths[:, None]
        ids[filled] = _concatenated(side, pairs, self.special, slot)
        return Side(ids, lengths)


class PackedBatches:
    """Batches of exactly `tokens` target tokens, about as many source tokens, and a fixed number of rows."""

    SPARE_ROWS = 64
    """Rows reserved for padding, which evens out differences between the sides."""

    def __init__(
        self, split: ParallelIds, special: SpecialIds, *, tokens: int, max_length: int, slot: bool, seed: int
    ) -> None:
        self.split, self.special, self.slot, self.seed, self.max_length = (
            split,
            special,
            slot,
            seed,
            max_length,
        )
        self.source_lengths, self.target_lengths = split.source.lengths + 1, split.target.lengths + 1
        fits = np.maximum(self.source_lengths, self.target_lengths) <= max_length
        if not fits.any():
            raise UserError(f"no training pair is at most {max_length} subwords long; raise max_length.")
        longest = int(max(self.source_lengths[fits].max(), self.target_lengths[fits].max()))
        if tokens <= longest:
            raise UserError(
                f"a pair of {longest} subwords does not fit a packed batch of {tokens}; use larger batches."
            )
        self.fits = fits
        weights = _pair_weights(split) * fits
        source_mean, target_mean = (
            float(np.average(n, weights=weights)) for n in (self.source_lengths, self.target_lengths)
        )
        self.target_tokens = tokens
        self.source_tokens = _multiple_of_128(tokens * source_mean / target_mean)
        self.rows = _multiple_of_128(1.1 * tokens / target_mean + self.SPARE_ROWS)

    def plan(self, epoch: int) -> list[Index]:
        """The pairs of each batch of an epoch; the last batch is filled up from the beginning of the epoch."""
        order = epoch_order(self.split, self.seed, epoch)
        pairs = order[self.fits[order]]
        order = np.resize(pairs, len(pairs) + self.rows)  # all pairs, and again as many as a batch can hold
        source_end = np.cumsum(self.source_lengths[order])
        target_end = np.cumsum(self.target_lengths[order])
        batches, first = [], 0
        while first < len(pairs):
            source_start = source_end[first - 1] if first else 0
            target_start = target_end[first - 1] if first else 0
            # One token of each side is always padding, so that a padding row has something to attend to.
            last = min(
                int(np.searchsorted(source_end, source_start + self.source_tokens - 1, side="right")),
                int(np.searchsorted(target_end, target_start + self.target_tokens - 1, side="right")),
                first + self.rows - self.SPARE_ROWS,
            )
            batches.append(order[first:last])
            first = last
        return batches

    def arrays(self, pairs: Index) -> PairArrays:
        """The batch made of these pairs."""
        return PairArrays(
            self._packed_side(self.split.source, pairs, self.source_tokens, self.slot),
            self._packed_side(self.split.target, pairs, self.target_tokens, False),
            len(pairs),
            packed=True,
        )

    def _packed_side(self, side: IdsFile, pairs: Index, tokens: int, slot: bool) -> Side:
        front = int(slot)
        real = side.lengths[pairs] + 1
        spare = self.rows - len(pairs)
        padding = np.clip(tokens - int(real.sum()) - np.arange(spare) * self.max_length, 0, self.max_length)
        if real.sum() + padding.sum() != tokens:
            raise UserError("the two sides differ too much in length to be packed; train with engine=eager.")
        lengths = np.concatenate([real, padding]) + front
        ids = np.full(int(lengths.sum()), self.special.pad, np.int64)
        text = _concatenated(side, pairs, self.special, slot)
        ids[: len(text)] = text
        return Side(ids, lengths)


def _concatenated(side: IdsFile, pairs: Index, special: SpecialIds, slot: bool) -> Index:
    """The sentences concatenated, each with its end mark, and with `slot` a reserved position in front."""
    front = int(slot)
    lengths = side.lengths[pairs]
    starts = np.asarray(side.offsets)[pairs].astype(np.int64)
    out_lengths = lengths + front + 1
    out_starts = np.cumsum(out_lengths) - out_lengths
    ids = np.full(int(out_lengths.sum()), special.eos, np.int64)
    if slot:
        ids[out_starts] = special.pad
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    ids[np.repeat(out_starts + front, lengths) + within] = side.flat[np.repeat(starts, lengths) + within]
    return ids


def _pair_weights(split: ParallelIds) -> npt.NDArray[np.float64]:
    weights = np.zeros(len(split))
    for part in split.corpora:
        weights[part.first : part.first + part.pairs] = part.weight
    return weights


def _widths(max_length: int) -> npt.NDArray[Any]:
    """Multiples of 8 that grow by about an eighth at a time: few shapes, little padding."""
    widths = [8]
    while widths[-1] < max_length:
        widths.append(widths[-1] + max(8, widths[-1] // 64 * 8))
    return np.minimum(widths, -(-max_length // 8) * 8)


def _multiple_of_128(n: float) -> int:
    return round(n / 128 + 0.5) * 128
