"""Decoding with fertilities (Gu et al., 2018): copy each source word as often as its fertility says, then one pass.

The fertilities are the likeliest ones (argmax), the rounded means (average), or several that are drawn at random: then
there are several translations, and a teacher chooses (noisy parallel decoding; `runtime/judge.py`). Without one, the
most confident translation is first.

Shape letters: S source positions, C classes of fertility, K drawn fertilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import ClassVar, Protocol, cast

import numpy as np
import numpy.typing as npt

from maskpredict.decoding.decoder import Decoder, StartedTranslation
from maskpredict.decoding.engine import Encoded
from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.decoding.settings import FertilitySettings
from maskpredict.decoding.whole_drafts import predict_all

Counts = npt.NDArray[np.int64]
"""The fertility of each source position."""


class EncodedWithFertilities(Encoded, Protocol):
    """A batch of sources after the encoder of a model with fertilities."""

    @property
    def fertility_log_probs(self) -> list[npt.NDArray[np.float32]]:
        """Log-probabilities [S, C] of the fertilities of each source's positions."""


class FertilityDecoder(Decoder):
    """Predicts every position at once from copies of the source words."""

    settings_type: ClassVar[type] = FertilitySettings

    def start(self, requests: Sequence[Request], settings: FertilitySettings) -> StartedTranslation:
        """As in `Decoder`."""
        self.refuse_constraints(requests)
        with self.engine.working():
            encoded = self._encode(requests)
            drafts = [
                self._drafts(request.source, log_probs_SC, settings)
                for request, log_probs_SC in zip(requests, encoded.fertility_log_probs, strict=True)
            ]
            owner = [row for row, sentence_drafts in enumerate(drafts) for _ in sentence_drafts]
            flat = list(chain(*drafts))
            answers = predict_all(encoded, flat, owner, settings.suppress_tokens, pad=self.engine.special.pad)
        hypotheses: list[list[Hypothesis]] = [[] for _ in requests]
        for row, answer in zip(owner, answers, strict=True):
            hypotheses[row].append(_hypothesis(answer.tokens, answer.log_probs))
        # A stable sort: of equals, the one that was drawn first.
        ranked = [sorted(several, key=lambda hypothesis: -hypothesis.score) for several in hypotheses]
        return lambda: [several[: settings.num_hypotheses] for several in ranked]

    def score(
        self, requests: Sequence[Request], targets: Sequence[Sequence[int]], settings: FertilitySettings
    ) -> list[Hypothesis]:
        """As in `Decoder`, with the copies stretched to the target's length; those of argmax instead of drawn ones."""
        self.refuse_constraints(requests)
        with self.engine.working():
            encoded = self._encode(requests)
            rule = "average" if settings.fertilities == "average" else "argmax"
            drafts = [
                copied(request.source, chosen(log_probs_SC, rule), len(target))
                for request, target, log_probs_SC in zip(requests, targets, encoded.fertility_log_probs, strict=True)
            ]
            answers = predict_all(
                encoded,
                drafts,
                range(len(drafts)),
                settings.suppress_tokens,
                pad=self.engine.special.pad,
                given=targets,
            )
        return [_hypothesis(list(ids), answer.given_log_probs) for ids, answer in zip(targets, answers, strict=True)]

    def _encode(self, requests: Sequence[Request]) -> EncodedWithFertilities:
        return cast(EncodedWithFertilities, self.engine.encode([request.source for request in requests]))

    def _drafts(
        self, source: Sequence[int], log_probs_SC: npt.NDArray[np.float32], settings: FertilitySettings
    ) -> list[list[int]]:
        """Return the different drafts of a sentence."""
        if settings.fertilities == "sample":
            several = drawn(log_probs_SC, settings.samples, [settings.seed, *source])
        else:
            several = [chosen(log_probs_SC, settings.fertilities)]
        longest = self.engine.config.max_positions - 1
        drafts = [copied(source, counts, min(max(int(counts.sum()), 1), longest)) for counts in several]
        return [list(draft) for draft in dict.fromkeys(map(tuple, drafts))]


def chosen(log_probs_SC: npt.NDArray[np.float32], rule: str) -> Counts:
    """Return the likeliest fertility of each source position, or with "average" the rounded mean."""
    if rule == "average":
        means_S = np.exp(log_probs_SC.astype(np.float64)) @ np.arange(log_probs_SC.shape[1])
        return np.floor(means_S + 0.5).astype(np.int64)
    return log_probs_SC.argmax(1)


def drawn(log_probs_SC: npt.NDArray[np.float32], count: int, seed: Sequence[int]) -> list[Counts]:
    """Draw the fertilities of all positions `count` times.

    With a seed of its own, a sentence has the same ones in every batch.
    """
    upto_SC = np.exp(log_probs_SC.astype(np.float64)).cumsum(1)
    chance_KS1 = np.random.default_rng(seed).random((count, len(upto_SC), 1)) * upto_SC[:, -1:]
    return list((upto_SC <= chance_KS1).sum(2))


def copied(source: Sequence[int], counts: Counts, length: int) -> list[int]:
    """Return each source word as often as its count says, in order, stretched to a length."""
    ends_S = counts.cumsum()
    places_T = (np.arange(length) + 0.5) * (ends_S[-1] / length)
    index_T = np.searchsorted(ends_S, places_T, side="right").clip(max=len(source) - 1)
    return [source[index] for index in index_T]


def _hypothesis(ids: list[int], log_probs: list[float]) -> Hypothesis:
    return Hypothesis(ids, log_probs, sum(log_probs) / len(log_probs), passes=1)
