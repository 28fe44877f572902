"""Blanks as decoder input and as decoder output, which need two ids.

As input, MASK means that a position is hidden, so a predicted blank is shown as BOS, which does not occur in targets.
As output, a blank has the row of MASK, as in CTC models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from maskpredict.decoding.arrays import Array, array_namespace
from maskpredict.decoding.engine import Encoded, Passes, Prediction, Query
from maskpredict.special_ids import SpecialIds


@dataclass(frozen=True)
class EncodedForAlignments:
    """Sources after the encoder, for drafts in which a blank is BOS."""

    encoded: Encoded
    special: SpecialIds

    @property
    def length_log_probs_BL(self) -> npt.NDArray[np.float32]:
        """As in `Encoded`."""
        return self.encoded.length_log_probs_BL

    @property
    def positions(self) -> list[int]:
        """As in `Encoded`."""
        return self.encoded.positions

    def groups(self, lengths: Sequence[int]) -> list[list[int]]:
        """As in `Encoded`."""
        return self.encoded.groups(lengths)

    def passes(self, owner: Sequence[int], lengths: Sequence[int]) -> AlignmentPasses:
        """As in `Encoded`."""
        return AlignmentPasses(self.encoded.passes(owner, lengths), self.special)


@dataclass(frozen=True)
class AlignmentPasses:
    """Passes that take and predict BOS where the model predicts MASK, its blank."""

    inner: Passes
    special: SpecialIds

    def array(self, rows: Sequence[Sequence[int]], fill: int) -> Array:
        """As in `Passes`."""
        return self.inner.array(rows, fill)

    def predict(self, tokens_BT: Array, masked_BT: Array, query: Query) -> Prediction:
        """As in `Passes`."""
        if query.given_BT is not None:
            given_BT = _replaced(query.given_BT, self.special.bos, self.special.mask)
            query = replace(query, given_BT=given_BT)
        prediction = self.inner.predict(tokens_BT, masked_BT, query)
        tokens_BT = _replaced(prediction.tokens_BT, self.special.mask, self.special.bos)
        return replace(prediction, tokens_BT=tokens_BT)

    def log_probs(self, tokens_BT: Array, query: Query) -> Array:
        """As in `Passes`; the blank's column is that of MASK."""
        return self.inner.log_probs(tokens_BT, query)


def _replaced(ids_BT: Array, old: int, new: int) -> Array:
    xp = array_namespace(ids_BT)
    return xp.where(ids_BT == old, new, ids_BT)
