"""Which translations of a CMLM are recorded, and what recordings tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.model.batch import round_up

MOST_POSITIONS = 8_192
"""Target positions beyond which a batch is large enough to keep a GPU busy without a recording."""


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
        source_width = round_up(1 + max(len(request.source) for request in requests))
        target_width = min(round_up(max(source_width + 16, source_width * 3 // 2)), max_positions // 8 * 8)
        sentences = 1 << (len(requests) - 1).bit_length()
        if sentences * settings.length_candidates * target_width > MOST_POSITIONS:
            return None
        return cls(
            sentences,
            source_width,
            target_width,
            settings.length_candidates,
            settings.iterations,
            settings.suppress_tokens,
            settings.threshold,
            settings.prune_candidates,
        )

    @property
    def rows(self) -> int:
        """Drafts that are decoded side by side."""
        return self.sentences * self.candidates
