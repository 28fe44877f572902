"""A vocabulary shortlist: the target subwords that a source's translation may consist of.

The last layer of a decoder scores every subword of the vocabulary, at every position, in every pass. Of these, a
sentence needs a few hundred: likely translations of its own subwords, and the words that occur everywhere. A model
folder may say which (`shortlist.safetensors`), and an engine that knows it scores only those.

Shape letters: V source vocabulary, K translations of each subword, F frequent subwords.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from maskpredict.disk_errors import explain_disk_errors
from maskpredict.errors import UserError

SHORTLIST_FILE = "shortlist.safetensors"
_TRANSLATIONS, _FREQUENT, _CHECKSUM = "translations", "frequent", "checksum"

Ids = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Shortlist:
    """Candidates for the subwords of a translation."""

    translations_VK: Ids
    """Target subwords that each source subword may become; a row with fewer than K repeats one of them."""
    frequent_F: Ids
    """Target subwords that may occur in any translation, the end mark among them."""

    def candidates(self, source: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return the target subwords that a source's translation may consist of, in ascending order."""
        return np.unique(np.concatenate([self.frequent_F, self.translations_VK[list(source)].ravel()])).astype(np.int64)

    def to_bytes(self, target_vocabulary: int) -> bytes:
        """Return the content of a file, in the narrowest type that holds the ids of the target's vocabulary."""
        kind = np.min_scalar_type(target_vocabulary - 1)
        arrays = {
            _TRANSLATIONS: np.ascontiguousarray(self.translations_VK, kind),
            _FREQUENT: np.ascontiguousarray(self.frequent_F, kind),
        }
        return save(arrays, {_CHECKSUM: _checksum(arrays)})

    @classmethod
    def read(cls, path: Path, source_vocabulary: int, target_vocabulary: int) -> Shortlist:
        """Read a file of `to_bytes`, and refuse one that has changed or does not fit the vocabularies."""
        try:
            with explain_disk_errors(path, "read"), safe_open(path, framework="np") as file:
                arrays = {name: file.get_tensor(name) for name in (_TRANSLATIONS, _FREQUENT)}
                expected = (file.metadata() or {}).get(_CHECKSUM)
        except (SafetensorError, OSError, ValueError) as error:
            raise UserError(f"{path} is damaged ({error}); copy the model folder again.") from error
        if _checksum(arrays) != expected:
            raise UserError(f"{path} is damaged: its checksum is not {expected}; copy the model folder again.")
        shortlist = cls(arrays[_TRANSLATIONS], arrays[_FREQUENT])
        if not shortlist._fits(source_vocabulary, target_vocabulary):
            raise UserError(f"{path} does not fit the model's vocabulary; copy the model folder again.")
        return shortlist

    def _fits(self, source_vocabulary: int, target_vocabulary: int) -> bool:
        rows, frequent = self.translations_VK, self.frequent_F
        if any(ids.dtype.kind != "u" or not ids.size for ids in (rows, frequent)):
            return False
        if rows.ndim != 2 or len(rows) != source_vocabulary or frequent.ndim != 1:
            return False
        return max(int(rows.max()), int(frequent.max())) < target_vocabulary


def _checksum(arrays: Mapping[str, Ids]) -> str:
    checksum = 0
    for name in sorted(arrays):
        checksum = crc32(arrays[name].tobytes(), checksum)
    return f"{checksum:08x}"
