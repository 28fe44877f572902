"""Sentences as one flat array of ids on disk, read back through a memory map.

A side of a split is two files: `STEM.ids` holds the ids of all sentences end to end (little-endian uint16, or
uint32 when the vocabulary needs it), `STEM.offsets` (little-endian uint64) holds where each sentence starts,
and a last entry with the total. No EOS is stored: it is the same for every sentence, so the batches add it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from maskpredict.errors import UserError

OFFSET_TYPE = np.dtype("<u8")
LARGEST_UINT16_VOCABULARY = 65_536


def id_type(vocab_size: int) -> np.dtype[Any]:
    """The narrowest type that holds every id of a vocabulary."""
    return np.dtype("<u2") if vocab_size <= LARGEST_UINT16_VOCABULARY else np.dtype("<u4")


def ids_path(stem: Path) -> Path:
    """`train.de` -> `train.de.ids`."""
    return stem.with_name(stem.name + ".ids")


def offsets_path(stem: Path) -> Path:
    """`train.de` -> `train.de.offsets`."""
    return stem.with_name(stem.name + ".offsets")


class IdsWriter:
    """Writes sentences one after another, or in blocks; memory use does not depend on how many."""

    def __init__(self, stem: Path, vocab_size: int) -> None:
        self.pairs = 0
        """Sentences written so far."""
        self.tokens = 0
        """Ids written so far."""
        self._type = id_type(vocab_size)
        self._ids = ids_path(stem).open("wb")
        self._offsets = offsets_path(stem).open("wb")
        self._offsets.write(np.zeros(1, OFFSET_TYPE).tobytes())

    def append(self, ids: Sequence[int]) -> None:
        """Write one sentence."""
        self.extend(np.asarray(ids, dtype=np.int64), np.array([len(ids)]))

    def extend(self, flat: npt.NDArray[np.integer[Any]], lengths: npt.NDArray[np.integer[Any]]) -> None:
        """Write a block of sentences: their ids end to end, and the length of each."""
        if int(lengths.sum()) != len(flat):
            raise ValueError(f"lengths add up to {lengths.sum()}, but there are {len(flat)} ids")
        self._ids.write(flat.astype(self._type).tobytes())
        self._offsets.write((self.tokens + np.cumsum(lengths)).astype(OFFSET_TYPE).tobytes())
        self.tokens += len(flat)
        self.pairs += len(lengths)

    def close(self) -> None:
        """Flush both files."""
        self._ids.close()
        self._offsets.close()

    def __enter__(self) -> IdsWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class IdsFile:
    """The sentences of one side of a split; `ids_file[i]` is a view into the memory map, not a copy."""

    def __init__(self, stem: Path) -> None:
        self.stem = stem
        """Path of the two files, without `.ids` or `.offsets`."""
        self.offsets: npt.NDArray[np.uint64] = _map(offsets_path(stem), OFFSET_TYPE)
        """Start of each sentence in `flat`, and the total as a last entry."""
        if len(self.offsets) == 0:
            raise UserError(f"{offsets_path(stem)} is empty; prepare the data again.")
        self.flat: npt.NDArray[np.integer[Any]] = _map(ids_path(stem), self._stored_type())
        """The ids of all sentences, end to end."""

    def _stored_type(self) -> np.dtype[Any]:
        # The width follows from the two file sizes, so the files need no header and no vocabulary to be read.
        tokens = int(self.offsets[-1])
        size = _size(ids_path(self.stem))
        for dtype in (np.dtype("<u2"), np.dtype("<u4")):
            if size == tokens * dtype.itemsize:
                return dtype
        raise UserError(
            f"{ids_path(self.stem)} has {size} bytes, which does not fit the {tokens} ids of its offsets; "
            "prepare the data again."
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> npt.NDArray[np.integer[Any]]:
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"sentence {index} of {len(self)} in {self.stem}")
        return self.flat[int(self.offsets[index]) : int(self.offsets[index + 1])]

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of ids of each sentence."""
        starts = self.offsets.astype(np.int64)
        return starts[1:] - starts[:-1]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); prepare the data again.") from error


def _map(path: Path, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if _size(path) == 0:  # an empty file cannot be mapped
        return np.empty(0, dtype)
    if _size(path) % dtype.itemsize:
        raise UserError(f"{path} was cut off in the middle of a number; prepare the data again.")
    return np.memmap(path, dtype=dtype, mode="r")
