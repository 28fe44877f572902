"""Which translations of a CMLM are recorded, and what recordings tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.model.batch import round_up

MOST_POSITIONS = 32_768
"""Target positions beyond which a batch is large enough to keep a GPU busy without a recording."""
AT_FIRST_SIGHT = 8_192
"""Target positions up to which a recording is made at once. A larger one takes longer to make, and is made when its
shape comes a second time."""
ROOMS = {0: 4, 32: 8, 256: 12}
"""Positions by which targets may exceed the longest source at first, from so many drafts on. The more there are, the
further the longest of them goes; but every position is computed, needed or not."""
STEP_OF_MORE = 16
"""Widths of targets that need more are multiples of this, so that few shapes do for all of them."""


@dataclass(frozen=True)
class Shape:
    """What a recording is made for."""

    sentences: int
    source_width: int
    target_width: int
    candidates: int
    iterations: int
    suppressed: tuple[int, ...]
    threshold: float | None = None
    kept: int | None = None
    """Candidates that go on after the first pass."""

    @classmethod
    def of(cls, requests: Sequence[Request], settings: MaskPredictSettings, max_positions: int) -> Shape | None:
        """The shape for these requests, if a recording suits them: plain ones, and not too many.

        A recording makes all passes, even if a threshold leaves nothing for the last of them to do.
        """
        plain = settings.strategy == "mask_predict" and not (settings.trace or settings.stop_when_stable)
        if not plain or settings.iterations == "N":
            return None
        if settings.prune_candidates is not None and settings.length_threshold is not None:
            return None  # which candidates are pruned would depend on which are tried
        if any(request.pins or request.template or request.length for request in requests):
            return None
        longest = max(len(request.source) for request in requests)
        sentences = 1 << (len(requests) - 1).bit_length()
        shape = cls(
            sentences,
            round_up(1 + longest),
            min(round_up(longest + _room(sentences * settings.length_candidates)), max_positions // 8 * 8),
            settings.length_candidates,
            settings.iterations,
            settings.suppress_tokens,
            settings.threshold,
            settings.prune_candidates,
        )
        return shape if shape.positions <= MOST_POSITIONS else None

    def widened(self, longest: int, max_positions: int) -> Shape | None:
        """The shape for targets up to this length, if a recording still suits them."""
        width = min(round_up(longest, STEP_OF_MORE), max_positions // 8 * 8)
        return replace(self, target_width=width) if longest <= width <= MOST_POSITIONS // self.rows else None

    @property
    def rows(self) -> int:
        """Drafts that are decoded side by side."""
        return self.sentences * self.candidates

    @property
    def positions(self) -> int:
        """Target positions of all drafts."""
        return self.rows * self.target_width


def _room(drafts: int) -> int:
    return ROOMS[max(least for least in ROOMS if least <= drafts)]
