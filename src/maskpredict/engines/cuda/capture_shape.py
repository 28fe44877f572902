"""Which translations of a CMLM are recorded, and what recordings tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.model.padding import round_up

BEST_POSITIONS = 12_288
"""Target positions that keep a GPU busy: with more in a batch it is slower, with fewer the host is."""
MOST_POSITIONS = 65_536
"""Target positions beyond which nothing is recorded: a batch of the best size may turn out to need wider targets."""
AT_FIRST_SIGHT = 8_192
"""Target positions up to which a capture is made at once. A larger one takes longer to make, and is made when its
shape comes a second time."""
ROOMS = {0: 4, 32: 8, 256: 12}
"""Positions by which targets may exceed the longest source at first, from so many drafts on. The more there are, the
further the longest of them goes; but every position is computed, needed or not."""
EVERY_POWER = 32
"""Sentences up to which a capture's number of them is a power of two."""
STEP_OF_MORE = 16
"""Widths of targets that need more are multiples of this, so that few shapes do for all of them."""


@dataclass(frozen=True)
class CaptureShape:
    """What a capture is made for."""

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
    def of(cls, requests: Sequence[Request], settings: MaskPredictSettings, max_positions: int) -> CaptureShape | None:
        """The shape for these requests, if a capture suits them: plain ones, and not too many.

        A capture makes all passes, even if a threshold leaves nothing for the last of them to do.
        """
        if not _suit(settings) or any(request.pins or request.template or request.length for request in requests):
            return None
        assert settings.iterations != "N"
        longest = max(len(request.source) for request in requests)
        sentences = _rounded_up(len(requests))
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

    def widened(self, longest: int, max_positions: int) -> CaptureShape | None:
        """The shape for targets up to this length, if a capture still suits them."""
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


def most_sentences(source_width: int, settings: MaskPredictSettings) -> int | None:
    """Sentences of this width, LENGTH included, that make a capture of the best size; None if there is none."""
    if not _suit(settings):
        return None
    target_width = round_up(source_width + max(ROOMS.values()))
    most = max(1, BEST_POSITIONS // (settings.length_candidates * target_width))
    power = 1 << (most.bit_length() - 1)
    return power if power < EVERY_POWER else most // (power // 4) * (power // 4)


def _suit(settings: MaskPredictSettings) -> bool:
    """Whether all passes can be made without a look in between."""
    if settings.prune_candidates is not None and settings.length_threshold is not None:
        return False  # which candidates are pruned would depend on which are tried
    looks = settings.trace or settings.stop_when_stable or settings.iterations == "N"
    return settings.strategy == "mask_predict" and not looks


def _rounded_up(sentences: int) -> int:
    """So that few shapes do for all batches: to a power of two, or where that would be much, to an eighth of one."""
    power = 1 << (sentences - 1).bit_length()
    return power if power <= EVERY_POWER else round_up(sentences, power // 8)


def _room(drafts: int) -> int:
    return ROOMS[max(least for least in ROOMS if least <= drafts)]
