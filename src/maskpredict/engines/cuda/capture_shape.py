"""Shapes of captured translations, and which batches are captured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import AlignmentSettings, MaskPredictSettings
from maskpredict.model.padding import round_up

BEST_POSITIONS = 12_288
"""Target positions of the fastest batch: more slow the GPU down, fewer leave it waiting for the host."""
MAX_POSITIONS = 65_536
"""Target positions of the largest capture. Above `BEST_POSITIONS`, because a batch may turn out to need a wider one."""
CAPTURE_AT_ONCE_POSITIONS = 8_192
"""Target positions up to which a shape is captured at its first use. Larger shapes take longer to capture, and are
captured at their second use."""
EXTRA_POSITIONS = {0: 4, 32: 8, 256: 12}
"""Target positions beyond the longest source, by the least number of drafts. The longest of many drafts is longer, but
every position is computed, needed or not."""
MAX_POWER_OF_TWO_SENTENCES = 32
"""Up to this number, the sentences of a capture are a power of two."""
WIDENING_STEP = 16
"""Widened targets are a multiple of this, so that few shapes serve all of them."""


@dataclass(frozen=True)
class CaptureShape:
    """The sizes and settings that one captured CUDA graph serves."""

    sentences: int
    source_width: int
    target_width: int
    candidates: int
    iterations: int
    suppressed: tuple[int, ...]
    threshold: float | None = None
    kept: int | None = None
    """Candidates per sentence left after the first pass; None for all."""
    slot: bool = True
    """True if a position in front of each source is empty, for LENGTH."""

    @classmethod
    def of(cls, requests: Sequence[Request], settings: MaskPredictSettings, max_positions: int) -> CaptureShape | None:
        """Return the shape for these requests, or None for constrained requests and large batches.

        A captured graph runs all passes, even if a threshold leaves nothing to predict in the last of them.
        """
        if not _can_capture(settings) or _constrained(requests):
            return None
        assert settings.iterations != "N"
        longest = max(len(request.source) for request in requests)
        sentences = _round_up_sentences(len(requests))
        shape = cls(
            sentences,
            round_up(1 + longest),
            min(round_up(longest + _extra_positions(sentences * settings.length_candidates)), max_positions // 8 * 8),
            settings.length_candidates,
            settings.iterations,
            settings.suppress_tokens,
            settings.threshold,
            settings.prune_candidates,
        )
        return shape if shape.positions <= MAX_POSITIONS else None

    @classmethod
    def of_alignments(
        cls, requests: Sequence[Request], settings: AlignmentSettings, positions: int
    ) -> CaptureShape | None:
        """As `of`, for a model with so many positions for each source subword."""
        if not _can_capture_alignments(settings) or _constrained(requests):
            return None
        source_width = round_up(max(len(request.source) for request in requests))
        shape = cls(
            _round_up_sentences(len(requests)),
            source_width,
            positions * source_width,
            1,
            settings.most_passes(source_width),
            settings.suppress_tokens,
            settings.threshold,
            slot=False,
        )
        return shape if shape.positions <= MAX_POSITIONS else None

    def widened(self, longest: int, max_positions: int) -> CaptureShape | None:
        """Return the shape for targets up to this length, or None if it is too large to capture."""
        width = min(round_up(longest, WIDENING_STEP), max_positions // 8 * 8)
        return replace(self, target_width=width) if longest <= width <= MAX_POSITIONS // self.rows else None

    @property
    def rows(self) -> int:
        """Drafts in the batch."""
        return self.sentences * self.candidates

    @property
    def positions(self) -> int:
        """Target positions of all drafts."""
        return self.rows * self.target_width


def best_sentence_count(source_width: int, settings: MaskPredictSettings) -> int | None:
    """Return how many sources of this width, LENGTH included, make the fastest capture; None if not captured."""
    if not _can_capture(settings):
        return None
    target_width = round_up(source_width + max(EXTRA_POSITIONS.values()))
    return _fitting_sentences(settings.length_candidates * target_width)


def best_alignment_count(source_width: int, settings: AlignmentSettings, positions: int) -> int | None:
    """As `best_sentence_count`, for a model with so many positions for each source subword."""
    return _fitting_sentences(positions * source_width) if _can_capture_alignments(settings) else None


def _fitting_sentences(positions: int) -> int:
    """Return how many sentences of so many target positions each make the fastest capture."""
    most = max(1, BEST_POSITIONS // positions)
    power = 1 << (most.bit_length() - 1)
    return power if power < MAX_POWER_OF_TWO_SENTENCES else most // (power // 4) * (power // 4)


def _can_capture(settings: MaskPredictSettings) -> bool:
    """Return True if all passes can run without the host reading a value in between."""
    if settings.prune_candidates is not None and settings.length_threshold is not None:
        return False  # which candidates are pruned would depend on which are tried
    needs_host = settings.trace or settings.stop_when_stable or settings.iterations == "N"
    return settings.strategy == "mask_predict" and not needs_host


def _can_capture_alignments(settings: AlignmentSettings) -> bool:
    """As `_can_capture`. In one pass, strategies do not differ; some take more passes than `iterations`."""
    one_pass = settings.most_passes(positions=2) == 1
    needs_host = settings.trace or settings.stop_when_stable or settings.iterations == "N"
    return not needs_host and (settings.strategy == "words_and_blanks" or one_pass)


def _constrained(requests: Sequence[Request]) -> bool:
    return any(request.pins or request.template or request.length for request in requests)


def _round_up_sentences(sentences: int) -> int:
    """Round up to a power of two, or to an eighth of one if large, so that few shapes serve all batches."""
    power = 1 << (sentences - 1).bit_length()
    return power if power <= MAX_POWER_OF_TWO_SENTENCES else round_up(sentences, power // 8)


def _extra_positions(drafts: int) -> int:
    return EXTRA_POSITIONS[max(least for least in EXTRA_POSITIONS if least <= drafts)]
