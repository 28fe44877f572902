"""Decoding of autoregressive models: beam search, or greedy search with one beam.

The search itself needs the model's state at every step, so engines run it (`CausalEngine`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from maskpredict.decoding.decoder import Decoder, StartedTranslation
from maskpredict.decoding.engine import CausalEngine
from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.decoding.settings import BeamSettings, InsertionSettings

EXTRA_LENGTH = 10
"""Subwords that a translation may have beyond `max_length_ratio` times its source."""


class BeamDecoder(Decoder):
    """Translates token by token, keeping the best `beam_size` hypotheses."""

    settings_type: ClassVar[type] = BeamSettings
    engine: CausalEngine

    def start(self, requests: Sequence[Request], settings: BeamSettings) -> StartedTranslation:
        """As in `Decoder`."""
        self.refuse_constraints(requests)
        sources = [request.source for request in requests]
        limits = [longest_target(len(ids), settings, self.engine.config.max_positions) for ids in sources]
        hypotheses = self.engine.search(sources, limits, settings)
        return lambda: hypotheses

    def score(
        self, requests: Sequence[Request], targets: Sequence[Sequence[int]], settings: BeamSettings
    ) -> list[Hypothesis]:
        """As in `Decoder`: log-probabilities normalised as beam search does."""
        sources = [request.source for request in requests]
        rows = self.engine.target_log_probs(sources, targets, settings.suppress_tokens)
        return [
            Hypothesis(list(ids), row, sum(row) / len(row) ** settings.length_penalty, passes=1)
            for ids, row in zip(targets, rows, strict=True)
        ]

    def cloze(self, sources: Sequence[Sequence[int]], target: Sequence[int], words: Sequence[int]) -> list[list[float]]:
        """As in `Decoder`, given the words before each alone."""
        return self.engine.target_log_probs(sources, [target] * len(sources), ())


def longest_target(source_length: int, settings: BeamSettings | InsertionSettings, max_positions: int) -> int:
    """Return how long the translation of a source of this length may become."""
    return min(int(settings.max_length_ratio * source_length) + EXTRA_LENGTH, max_positions)
